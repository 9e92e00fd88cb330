"""Rules of the host: what holds for the findings of some modes, agents, tools, frameworks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any

from mastwatch.detector import Detector
from mastwatch.findings import Finding, Severity
from mastwatch.patterns import Patterns
from mastwatch.policy.parameters import Parameters, assign

MATCHING = ("mode", "detector", "agent", "tool", "framework")
"""The keys that say which findings a rule is about."""
ACTING = ("severity", "thresholds", "ignore")
"""The keys that say what holds for them."""
_KNOWN = (*MATCHING, *ACTING, "reason", "expires")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rule:
    """One rule; a finding must fit all its patterns.

    Attributes:
        number: Its place among the rules, from 1.
        where: Where it is written, for people.
        modes: Codes of the modes it is about; all when empty.
        mode: The same as written.
        detector: Names of the detectors it is about.
        agent: Names of the agents; a finding about no single agent has an empty one.
        tool: Names of the tools.
        framework: Names of the frameworks.
        severity: Findings above it are lowered to it.
        thresholds: Parameters of detectors that hold instead of the general ones.
        ignore: Whether its findings are suppressed.
        reason: Why; an ignore must have one.
        expires: The last day on which it holds.
    """

    number: int
    where: str
    modes: frozenset[str] = frozenset()
    mode: Patterns = field(default_factory=Patterns)
    detector: Patterns = field(default_factory=Patterns)
    agent: Patterns = field(default_factory=Patterns)
    tool: Patterns = field(default_factory=Patterns)
    framework: Patterns = field(default_factory=Patterns)
    severity: Severity | None = None
    thresholds: Parameters = field(default_factory=dict)
    ignore: bool = False
    reason: str = ""
    expires: date | None = None

    def matches(self, mode: str, detector: str, agent: str, tool: str, framework: str) -> bool:
        """Whether a finding with these properties is one of those it is about."""
        return (
            self.concerns(mode, detector)
            and self.agent.match(agent)
            and self.tool.match(tool)
            and self.framework.match(framework)
        )

    def concerns(self, mode: str, detector: str) -> bool:
        """Whether findings of this detector may match."""
        return (not self.modes or mode in self.modes) and self.detector.match(detector)

    @property
    def sweeping(self) -> bool:
        """Whether it leaves out no agent and no tool."""
        return not self.agent and not self.tool

    @property
    def acts(self) -> bool:
        """Whether it changes anything."""
        return self.ignore or self.severity is not None or bool(self.thresholds)

    def tunes(self, detector: str) -> bool:
        """Whether this detector has parameters of its own under this rule."""
        return detector in self.thresholds

    def expired(self, today: date) -> bool:
        """Whether its last day is over."""
        return self.expires is not None and today > self.expires

    def cap(self, finding: Finding) -> Finding:
        """The finding, at most as severe as the rule lets it be."""
        if self.severity is None or finding.severity <= self.severity:
            return finding
        return replace(finding, severity=self.severity)


def read_rules(
    raw: Sequence[Any], where: str, kinds: Sequence[type[Detector]], problems: list[str]
) -> list[Rule]:
    """Read the rules; one with a mistake does not apply, the others do.

    Args:
        raw: The tables as written.
        where: Where they are written, for people.
        kinds: All detectors, for their names and parameters.
        problems: What is wrong is added here, one sentence each.
    """
    rules = []
    for number, table in enumerate(raw, 1):
        place = f"{where} #{number}"
        try:
            rules.append(_rule(number, place, table, kinds, problems))
        except (TypeError, ValueError) as error:
            problems.append(f"{place}: {error}; the rule does not apply")
    return rules


def _rule(
    number: int, where: str, table: Any, kinds: Sequence[type[Detector]], problems: list[str]
) -> Rule:
    if not isinstance(table, Mapping):
        raise TypeError(f"expected a table, not {table!r}")
    if unknown := [str(key) for key in table if key not in _KNOWN]:
        raise ValueError(f"unknown key {', '.join(unknown)}; known are {', '.join(_KNOWN)}")
    patterns = {key: _keyed(key, Patterns.read, table[key]) for key in MATCHING if key in table}
    if not patterns:
        raise ValueError(f"matches nothing in particular; give one of {', '.join(MATCHING)}")
    reason = table.get("reason", "")
    if not isinstance(reason, str):
        raise TypeError(f"reason: expected a text, not {reason!r}")
    rule = Rule(
        number=number,
        where=where,
        modes=_modes(patterns.get("mode")),
        severity=_keyed("severity", _severity, table.get("severity")),
        ignore=_keyed("ignore", _flag, table.get("ignore", False)),
        reason=reason.strip(),
        expires=_keyed("expires", _day, table.get("expires")),
        **patterns,
    )
    if rule.ignore and not rule.reason:
        raise ValueError("ignore needs a reason")
    return _with_thresholds(rule, table.get("thresholds"), kinds, problems)


def _with_thresholds(
    rule: Rule, given: Any, kinds: Sequence[type[Detector]], problems: list[str]
) -> Rule:
    meant = [kind for kind in kinds if rule.concerns(kind.mode, kind.name)]
    if rule.detector and not meant:
        names = ", ".join(kind.name for kind in kinds) or "none"
        raise ValueError(f"detector: no detector {rule.detector} here; known are {names}")
    if given is not None:
        rule = replace(rule, thresholds=assign(given, meant, f"{rule.where}.thresholds", problems))
    if not rule.acts:
        raise ValueError(f"changes nothing; give one of {', '.join(ACTING)}")
    return rule


def _keyed(key: str, read: Any, raw: Any) -> Any:
    """Read one key's value; the message of what cannot be read begins with the key."""
    try:
        return read(raw)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{key}: {error}") from None


def _modes(patterns: Patterns | None) -> frozenset[str]:
    return frozenset() if patterns is None else _keyed("mode", Patterns.modes, patterns)


def _severity(raw: Any) -> Severity | None:
    if raw is None:
        return None
    if not isinstance(raw, str):
        raise TypeError(f"expected the name of a severity, not {raw!r}")
    return Severity.parse(raw)


def _flag(raw: Any) -> bool:
    if not isinstance(raw, bool):
        raise TypeError(f"expected true or false, not {raw!r}")
    return raw


def _day(raw: Any) -> date | None:
    if raw is None:
        return None
    if isinstance(raw, datetime):
        return raw.date()
    if isinstance(raw, date):
        return raw
    try:
        return date.fromisoformat(raw)
    except (TypeError, ValueError):
        raise ValueError(f"expected a date like 2026-12-31, not {raw!r}") from None
