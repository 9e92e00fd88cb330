"""What the host wants of the findings: other thresholds, lower severities, silence with a reason.

``Policy`` is built from the settings once; the watch asks it which detectors a conversation gets
and which rule a finding falls under. ``mastwatch.allowances`` is its counterpart in code.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from mastwatch import taxonomy
from mastwatch.detector import Detector
from mastwatch.policy.parameters import Parameters, assign, refused
from mastwatch.policy.rules import Rule, read_rules

if TYPE_CHECKING:
    from mastwatch.settings import Settings

__all__ = ["Plan", "Policy", "Rule", "build", "configured"]

Plan: TypeAlias = "list[tuple[Callable[[], Detector], Rule | None]]"
"""What makes a conversation's detectors, each with the rule whose thresholds it has."""

_log = logging.getLogger("mastwatch")


class Policy:
    """The thresholds and rules of the host, checked against the detectors.

    Args:
        thresholds: As written in the settings: parameters by detector or mode.
        rules: As written in the settings.
        kinds: All detectors there are; what is written is checked against them.
        chosen: Those of them that watch; all by default.
        thresholds_at: Where the thresholds are written, for people.
        rules_at: Where the rules are written, for people.
        today: Gives the present day; tests give their own.

    Attributes:
        rules: The rules that can be used, expired ones included, in order.
        thresholds: The parameters that were set, by detector.
        origins: Where each of them is written, by detector and parameter.
        problems: What cannot be used and why, one sentence each.
    """

    def __init__(
        self,
        thresholds: Mapping[str, Any],
        rules: Sequence[Any],
        kinds: Iterable[type[Detector]],
        *,
        chosen: Iterable[type[Detector]] | None = None,
        thresholds_at: str = "thresholds",
        rules_at: str = "rules",
        today: Callable[[], date] = date.today,
    ) -> None:
        self._kinds = list(kinds)
        self._chosen = self._kinds if chosen is None else list(chosen)
        self._today = today
        problems: list[str] = []
        self.origins: dict[tuple[str, str], str] = {}
        self.thresholds = self._read_thresholds(thresholds, thresholds_at, problems)
        self.rules = read_rules(rules, rules_at, self._kinds, problems)
        for rule in self.rules:
            where = f"{rule.where}.thresholds"
            self._drop_refused(rule.thresholds, self.thresholds, where, problems)
        self.rules = [rule for rule in self.rules if rule.acts]
        self._told = {rule.number for rule in self.rules if rule.expired(today())}
        problems += [_expiry(rule) for rule in self.rules if rule.number in self._told]
        self.problems = tuple(problems)

    def plan(self, framework: str) -> Plan:
        """What makes the detectors of a conversation of this framework.

        A detector comes once for each set of parameters that a finding of it may fall under; it
        is one for all of them unless rules for single agents or tools say otherwise.
        """
        return [
            (partial(kind, **self.parameters(kind, rule)), rule)
            for kind in self._chosen
            for rule in self._variants(kind, framework)
        ]

    def parameters(self, kind: type[Detector], rule: Rule | None = None) -> dict[str, Any]:
        """The parameters that were set for a detector, under a rule if given."""
        own = rule.thresholds.get(kind.name, {}) if rule is not None else {}
        return {**self.thresholds.get(kind.name, {}), **own}

    def rule_for(
        self, mode: str, detector: str, agent: str, tool: str, framework: str
    ) -> Rule | None:
        """The rule that a finding with these properties falls under: the first that matches."""
        for rule in self.rules:
            if rule.matches(mode, detector, agent, tool, framework) and self._holds(rule):
                return rule
        return None

    def _variants(self, kind: type[Detector], framework: str) -> list[Rule | None]:
        variants: list[Rule | None] = []
        for rule in self.rules:
            concerned = rule.concerns(kind.mode, kind.name) and rule.framework.match(framework)
            if not concerned or not self._holds(rule):
                continue
            variants.append(rule if rule.tunes(kind.name) else None)
            if rule.sweeping and rule.expires is None:
                break  # nothing falls through to later rules or the default
        else:
            variants.append(None)
        return list(dict.fromkeys(variants))

    def _holds(self, rule: Rule) -> bool:
        if rule.expires is None or not rule.expired(self._today()):
            return True
        if rule.number not in self._told:
            self._told.add(rule.number)
            _log.warning("mastwatch: %s", _expiry(rule))
        return False

    def _read_thresholds(
        self, given: Mapping[str, Any], where: str, problems: list[str]
    ) -> Parameters:
        read: Parameters = {}
        # What stands under a detector's own name is more particular than what its mode says.
        for key in sorted(given, key=lambda key: key in {kind.name for kind in self._kinds}):
            meant = self._named(key)
            place = f'{where}."{key}"' if "." in key else f"{where}.{key}"
            if not meant:
                names = ", ".join(kind.name for kind in self._kinds) or "none"
                problems.append(
                    f"{place}: no detector has this name or mode; known detectors are "
                    f"{names}; it is ignored"
                )
                continue
            for name, values in assign(given[key], meant, place, problems).items():
                read.setdefault(name, {}).update(values)
                self.origins |= {(name, parameter): f"{place}.{parameter}" for parameter in values}
        self._drop_refused(read, {}, where, problems)
        return read

    def _named(self, key: str) -> list[type[Detector]]:
        own = [kind for kind in self._kinds if kind.name == key]
        if own:
            return own
        try:
            code = taxonomy.mode(key).code
        except KeyError:
            return []
        return [kind for kind in self._kinds if kind.mode == code]

    def _drop_refused(
        self, given: Parameters, base: Parameters, where: str, problems: list[str]
    ) -> None:
        """Make each detector once, so that none fails when a conversation begins."""
        for kind in self._kinds:
            if kind.name not in given:
                continue
            values = {**base.get(kind.name, {}), **given[kind.name]}
            if why := refused(kind, values):
                problems.append(f"{where}: {why}; they are ignored")
                del given[kind.name]


def build(settings: Settings, chosen: Iterable[type[Detector]] | None = None) -> Policy:
    """The policy that the settings ask for.

    Args:
        settings: Their ``thresholds`` and ``rules``.
        chosen: The detectors that watch; by default those that the settings name.
    """
    from mastwatch import registry

    plugins = [p for p in registry.plugins(registry.DETECTORS) if p.loaded is not None]
    kinds = [plugin.loaded for plugin in plugins if plugin.loaded is not None]
    if chosen is None:
        names = settings.detectors
        chosen = [p.loaded for p in plugins if p.loaded and (names is None or p.name in names)]
    return Policy(
        settings.thresholds,
        settings.rules,
        kinds,
        chosen=chosen,
        thresholds_at=settings.origin("thresholds"),
        rules_at=settings.origin("rules"),
    )


def configured(settings: Settings, chosen: Iterable[type[Detector]] | None = None) -> Policy | None:
    """The policy that the settings ask for; None, which costs nothing, where they ask for none."""
    return build(settings, chosen) if settings.thresholds or settings.rules else None


def _expiry(rule: Rule) -> str:
    return f"{rule.where}: expired on {rule.expires}; the rule no longer applies"
