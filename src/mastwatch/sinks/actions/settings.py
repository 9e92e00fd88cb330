"""The table ``[actions]``, read: webhooks and interventions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from mastwatch.findings import Severity
from mastwatch.interventions import Intervention, read_interventions
from mastwatch.patterns import Patterns
from mastwatch.sinks.actions.templates import Body

_TABLES = ("webhook", "intervene")
HIDDEN = ("url", "secret")
"""Keys of a webhook that nobody is shown: a chat tool's address is a password too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSettings:
    """One receiver of findings.

    Attributes:
        url: Where to.
        secret: Signs each message; none is signed without it.
        min_severity: The least severe finding told.
        modes: Codes or slugs of the modes told; all when empty.
        body: Makes the message.
        dedupe_seconds: The same finding is told once in so long, unless it got more severe.
        per_minute: Messages a minute; what is beyond is summed up in one.
        timeout: Seconds that one try may take.
        tries: Tries per message.
    """

    url: str
    secret: str = ""
    min_severity: Severity = Severity.WARN
    modes: Patterns = field(default_factory=Patterns)
    body: Body = field(default_factory=lambda: Body("json"))
    dedupe_seconds: float = 600.0
    per_minute: int = 20
    timeout: float = 5.0
    tries: int = 5

    @property
    def host(self) -> str:
        """What may be said in a log of where it goes."""
        return urlsplit(self.url).hostname or "?"


@dataclass(frozen=True, slots=True)
class Actions:
    """All that is done on findings.

    Attributes:
        webhooks: Who is told.
        interventions: What is done to runs.
        problems: What could not be read, one sentence each.
    """

    webhooks: tuple[WebhookSettings, ...] = ()
    interventions: tuple[Intervention, ...] = ()
    problems: tuple[str, ...] = ()


def read_actions(
    raw: Mapping[str, Any], where: str = "actions", environ: Mapping[str, str] | None = None
) -> Actions:
    """Read the table ``[actions]``; what has a mistake is left out, and said.

    Args:
        raw: The table as written.
        where: Where it is written, for people.
        environ: For the keys that name a variable; the process's by default.

    >>> read_actions({"webhook": {"url": "ftp://x"}}).problems
    ('actions.webhook #1: url: expected an http or https address; it is not told',)
    """
    problems = [
        f"{where}: {key} is none of {', '.join(_TABLES)}; it is ignored"
        for key in raw
        if key not in _TABLES
    ]
    environ = os.environ if environ is None else environ
    webhooks = []
    for number, table in enumerate(_tables(raw.get("webhook"), f"{where}.webhook", problems), 1):
        try:
            webhooks.append(_webhook(table, environ))
        except (TypeError, ValueError) as error:
            problems.append(f"{where}.webhook #{number}: {error}; it is not told")
    rules = _tables(raw.get("intervene"), f"{where}.intervene", problems)
    interventions = read_interventions(rules, f"{where}.intervene", problems)
    return Actions(tuple(webhooks), interventions, tuple(problems))


def _tables(raw: Any, where: str, problems: list[str]) -> Sequence[Any]:
    if raw is None:
        return ()
    if isinstance(raw, Mapping):
        return (raw,)
    if isinstance(raw, (list, tuple)):
        return raw
    problems.append(f"{where}: expected a table or a list of tables; it is ignored")
    return ()


def _webhook(table: Any, environ: Mapping[str, str]) -> WebhookSettings:
    if not isinstance(table, Mapping):
        raise TypeError("expected a table")
    known = (*_READERS, *(f"{key}_env" for key in HIDDEN))
    if unknown := [str(key) for key in table if key not in known]:
        raise ValueError(f"unknown key {', '.join(unknown)}; known are {', '.join(known)}")
    given = {key: value for key, value in table.items() if key in _READERS}
    for key in HIDDEN:
        if variable := table.get(f"{key}_env"):
            if not environ.get(variable):
                raise ValueError(f"{key}_env: the variable {variable} is not set")
            given[key] = environ[variable]
    if "url" not in given:
        raise ValueError("url is missing")
    values: dict[str, Any] = {}
    for key, value in given.items():
        try:
            values["body" if key == "template" else key] = _READERS[key](value)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{key}: {error}") from None
    return WebhookSettings(**values)


def _url(raw: Any) -> str:
    parts = urlsplit(raw) if isinstance(raw, str) else None
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("expected an http or https address")  # not quoted: it may be a secret
    return str(raw)


def _secret(raw: Any) -> str:
    if not isinstance(raw, str) or not raw:
        raise TypeError("expected a text")
    return raw


def _text(raw: Any) -> str:
    if not isinstance(raw, str):
        raise TypeError(f"expected a text, not {raw!r}")
    return raw


def _number(kind: type, low: float, high: float) -> Any:
    def read(raw: Any) -> Any:
        if isinstance(raw, bool) or not isinstance(raw, (int, float)) or not low <= raw <= high:
            raise ValueError(f"expected a number from {low:g} to {high:g}, not {raw!r}")
        return kind(raw)

    return read


_READERS: dict[str, Any] = {
    "url": _url,
    "secret": _secret,
    "min_severity": lambda raw: Severity.parse(_text(raw)),
    "modes": Patterns.read,
    "template": lambda raw: Body(_text(raw)),
    "dedupe_seconds": _number(float, 0, 86_400 * 7),
    "per_minute": _number(int, 1, 10_000),
    "timeout": _number(float, 0.1, 60),
    "tries": _number(int, 1, 20),
}
