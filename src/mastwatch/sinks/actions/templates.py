"""The bodies of messages to a webhook: JSON for programs, words for chat tools."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Any

from mastwatch import taxonomy
from mastwatch.findings import Finding, Severity

Held = Mapping[tuple[str, str], int]
NAMES = ("json", "slack", "teams")
_FIELDS = (
    *("mode", "slug", "category", "detector", "source", "run_id", "agent", "tool", "framework"),
    *("message_index", "evidence", "explanation", "fingerprint", "episode"),
)
_COLOURS = {Severity.ALERT: "Attention", Severity.WARN: "Warning"}


def facts(finding: Finding, more: Mapping[str, str]) -> dict[str, Any]:
    """What is told of a finding; never message text.

    Args:
        finding: The finding.
        more: Facts of the process and the trace; empty ones are left out.
    """
    told = {name: getattr(finding, name) for name in _FIELDS}
    told["severity"] = finding.severity.label
    told["name"] = taxonomy.mode(finding.mode).name
    return {"type": "finding", **told, **{key: value for key, value in more.items() if value}}


def sums(held: Held, more: Mapping[str, str]) -> dict[str, Any]:
    """What is told of findings that were held back."""
    counts = [{"mode": m, "severity": s, "count": count} for (m, s), count in held.items()]
    total = sum(held.values())
    shown = {key: value for key, value in more.items() if value}
    return {"type": "held_back", "count": total, "findings": counts, **shown}


class Body:
    """Makes bodies after a template.

    Args:
        template: One of ``NAMES``, or a file: JSON in which ``$mode``, ``$severity`` and any other
            fact of a finding stand inside quotes.

    Raises:
        ValueError: The file cannot be read, or does not give JSON.
    """

    def __init__(self, template: str) -> None:
        self._make = _BODIES.get(template) or _of_file(Path(template))

    def make(self, told: Mapping[str, Any]) -> bytes:
        """The body that tells these facts."""
        return json.dumps(self._make(told), ensure_ascii=False).encode()


def headline(told: Mapping[str, Any]) -> str:
    """One sentence of what happened.

    >>> headline({"type": "held_back", "count": 3, "findings": [
    ...     {"mode": "FM-1.3", "severity": "alert", "count": 3}]})
    '3 more findings were held back: FM-1.3 alert (3)'
    """
    if told["type"] == "held_back":
        each = (f"{one['mode']} {one['severity']} ({one['count']})" for one in told["findings"])
        return f"{told['count']} more findings were held back: {', '.join(each)}"
    who = f", agent {told['agent']}" if told["agent"] else ""
    return f"{told['severity'].upper()} {told['mode']} {told['name']}{who}"


def _slack(told: Mapping[str, Any]) -> Any:
    lines = [f"*{_escaped(headline(told))}*"]
    if told["type"] == "finding":
        lines += [_escaped(told["explanation"]), _escaped(_where(told))]
    return {"text": "\n".join(line for line in lines if line)}


def _teams(told: Mapping[str, Any]) -> Any:
    severity = Severity.parse(told.get("severity", "info"))
    blocks = [_block(headline(told), weight="Bolder", color=_COLOURS.get(severity, "Default"))]
    if told["type"] == "finding":
        blocks += [_block(told["explanation"]), _block(_where(told), isSubtle=True)]
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": blocks,
    }
    kind = "application/vnd.microsoft.card.adaptive"
    return {"type": "message", "attachments": [{"contentType": kind, "content": card}]}


def _block(text: str, **style: Any) -> dict[str, Any]:
    return {"type": "TextBlock", "text": text, "wrap": True, **style}


def _where(told: Mapping[str, Any]) -> str:
    rows = ", ".join(map(str, told["evidence"]))
    where = f"run {told['run_id']}, message {told['message_index']}"
    return f"{where}, evidence {rows}" if rows else where


def _escaped(text: str) -> str:
    """Slack takes these three for marks of its own (``<!channel>``)."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _of_file(path: Path) -> Any:
    try:
        template = Template(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        known = ", ".join(NAMES)
        raise ValueError(
            f"template {str(path)!r} is none of {known}, and no file ({error})"
        ) from None

    def make(told: Mapping[str, Any]) -> Any:
        values = {"headline": headline(told), **dict.fromkeys(_FIELDS, ""), **told}
        quoted = {
            key: json.dumps(value if isinstance(value, str) else json.dumps(value))[1:-1]
            for key, value in values.items()
        }
        return json.loads(template.safe_substitute(quoted))

    try:
        make({"type": "held_back", "count": 0, "findings": []})
    except ValueError as error:
        raise ValueError(f"template {str(path)!r} does not give JSON ({error})") from None
    return make


_BODIES: dict[str, Any] = {"json": dict, "slack": _slack, "teams": _teams}
