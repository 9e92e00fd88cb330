"""The host's rules: on which findings mastwatch may act, and how."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from mastwatch import taxonomy
from mastwatch.detector import Detector
from mastwatch.findings import Finding, Severity
from mastwatch.patterns import Patterns

Action: TypeAlias = Literal["halt", "nudge"]
ACTIONS: tuple[Action, ...] = get_args(Action)

_MATCHING = ("mode", "agent", "framework")
_KNOWN = ("action", *_MATCHING, "severity", "dry_run", "message", "at_most", "then")
_MOST = 100


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Intervention:
    """One rule: what to do on the findings that fit all its patterns.

    Attributes:
        action: ``halt`` ends the run, ``nudge`` puts a message into it.
        mode: Codes or slugs of the modes it is about.
        agent: Names of the agents; a finding about no single agent has an empty one.
        framework: Names of the frameworks.
        severity: The least severe finding it acts on.
        dry_run: Only count what would have been done.
        message: What a nudge says; our words for the mode by default.
        at_most: Nudges of this rule per run.
        then: What follows when the nudges are used up: ``halt``, or nothing.
    """

    action: Action
    mode: Patterns
    agent: Patterns = field(default_factory=Patterns)
    framework: Patterns = field(default_factory=Patterns)
    severity: Severity = Severity.ALERT
    dry_run: bool = False
    message: str = ""
    at_most: int = 1
    then: Literal["", "halt"] = ""

    def fits(self, finding: Finding) -> bool:
        """Whether it acts on a finding."""
        return (
            finding.severity >= self.severity
            and (self.mode.match(finding.mode) or self.mode.match(finding.slug))
            and self.agent.match(finding.agent)
            and self.framework.match(finding.framework)
        )


def read_interventions(
    raw: Sequence[Any], where: str, problems: list[str]
) -> tuple[Intervention, ...]:
    """Read the rules; one with a mistake does not act, the others do.

    Args:
        raw: Tables as written, or rules.
        where: Where they are written, for people.
        problems: What is wrong is added here, one sentence each.

    >>> problems = []
    >>> read_interventions([{"mode": "FM-1.3", "action": "stop"}], "here", problems)
    ()
    >>> problems
    ["here #1: action: expected halt or nudge, not 'stop'; it does not act"]
    """
    rules = []
    for number, table in enumerate(raw, 1):
        try:
            rules.append(table if isinstance(table, Intervention) else _read(table))
        except (TypeError, ValueError) as error:
            problems.append(f"{where} #{number}: {error}; it does not act")
    return tuple(rules)


def out_of_reach(
    rules: Iterable[Intervention], where: str, detectors: Iterable[type[Detector]]
) -> Iterator[str]:
    """Say which rules can never act, as no detector goes so far; judged are only finished runs.

    Args:
        rules: What was read.
        where: Where they are written, for people.
        detectors: Those that watch.
    """
    slugs = {mode.code: mode.slug for mode in taxonomy.MODES}
    known = [(d.mode, slugs.get(d.mode, ""), d.ceiling) for d in detectors]
    for rule in rules:
        found = [top for code, slug, top in known if rule.mode.match(code) or rule.mode.match(slug)]
        if not any(top >= rule.severity for top in found):
            so_far = f"goes up to {max(found).label} only" if found else "is told by no detector"
            yield (
                f"{where}: {rule.action} on {rule.mode} never happens: severity "
                f"{rule.severity.label} is asked for, and the mode {so_far} while a run goes on"
            )


def _read(table: Any) -> Intervention:
    if not isinstance(table, Mapping):
        raise TypeError(f"expected a table, not {table!r}")
    if unknown := [str(key) for key in table if key not in _KNOWN]:
        raise ValueError(f"unknown key {', '.join(unknown)}; known are {', '.join(_KNOWN)}")
    for key in ("action", "mode"):
        if key not in table:
            raise ValueError(f"{key} is missing")
    values: dict[str, Any] = {}
    for key, value in table.items():
        try:
            values[key] = _READERS[key](value)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{key}: {error}") from None
    return Intervention(**values)


def _mode(raw: Any) -> Patterns:
    patterns = Patterns.read(raw)
    patterns.modes()  # raises for a name of none
    return patterns


def _severity(raw: Any) -> Severity:
    if not isinstance(raw, str):
        raise TypeError(f"expected the name of a severity, not {raw!r}")
    return Severity.parse(raw)


def _flag(raw: Any) -> bool:
    if not isinstance(raw, bool):
        raise TypeError(f"expected true or false, not {raw!r}")
    return raw


def _text(raw: Any) -> str:
    if not isinstance(raw, str) or not raw.strip():
        raise TypeError(f"expected a text, not {raw!r}")
    return raw.strip()


def _count(raw: Any) -> int:
    if not isinstance(raw, int) or isinstance(raw, bool) or not 1 <= raw <= _MOST:
        raise ValueError(f"expected a whole number from 1 to {_MOST}, not {raw!r}")
    return raw


def _one_of(*words: str) -> Any:
    def read(raw: Any) -> str:
        if raw not in words:
            raise ValueError(f"expected {' or '.join(words)}, not {raw!r}")
        return str(raw)

    return read


_READERS: dict[str, Any] = {
    "action": _one_of(*ACTIONS),
    "mode": _mode,
    "agent": Patterns.read,
    "framework": Patterns.read,
    "severity": _severity,
    "dry_run": _flag,
    "message": _text,
    "at_most": _count,
    "then": _one_of("halt"),
}
