"""What was to be reached, as data, and whether it was."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import Any, TypeAlias

Report: TypeAlias = Mapping[str, Any]
Reached: TypeAlias = "float | int | None"


@dataclass(frozen=True, slots=True)
class Target:
    """One figure to reach.

    Attributes:
        what: In words.
        sign: ``>=``, ``>`` or ``<=``.
        wanted: The figure.
        reached: Reads it from a report; None where the report has no runs for it.
        mode: The failure mode it is about; empty for all of them.
    """

    what: str
    sign: str
    wanted: float
    reached: Callable[[Report], Reached]
    mode: str = ""

    def met(self, value: float) -> bool:
        """Whether a figure is good enough."""
        if self.sign == ">":
            return value > self.wanted
        return value >= self.wanted if self.sign == ">=" else value <= self.wanted


def judged(report: Report) -> list[dict[str, Any]]:
    """Each target with the figure reached; those the report has no runs for are left out."""
    rows: list[dict[str, Any]] = []
    for target in TARGETS:
        value = target.reached(report)
        if value is not None:
            rows.append(
                {"what": target.what, "mode": target.mode, "sign": target.sign}
                | {"wanted": target.wanted, "reached": None if value == _NEVER else value}
                | {"met": target.met(value)}
            )
    return rows


_NEVER = float("inf")
_HALF = "first half of the turns"
_PREFIX = "matched prefix"
RESTARTED = ("astropy-12907", "astropy-14365")
"""Ends of the ids of the two logs whose restarts were read by hand."""
NOT_RESTARTED = ("scikit-learn-25570",)
"""Ends of the ids of logs that hold none."""


def _find(report: Report, section: str, **wanted: object) -> list[Mapping[str, Any]]:
    rows = report.get(section, [])
    return [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]


def _silver(group: str, view: str, cell: str, rule: str) -> Callable[[Report], Reached]:
    def reached(report: Report) -> Reached:
        rows = _find(report, "agreement", group=group, view=view, mode="FM-1.5", rule=rule)
        return rows[0].get(cell) if rows else None

    return reached


def _overrun(group: str) -> Callable[[Report], Reached]:
    def reached(report: Report) -> Reached:
        rows = _find(report, "overrun", group=group, severity="warn")
        if not rows:
            return None
        median: float | None = rows[0]["median"]
        return _NEVER if median is None else median

    return reached


def _planted(mode: str, figure: str, requests: bool | None = None) -> Callable[[Report], Reached]:
    def reached(report: Report) -> Reached:
        wanted: dict[str, object] = {"by": "mode", "mode": mode, "target": True}
        if requests is not None:
            wanted |= {"by": "evidence", "requests": requests}
        rows = _find(report, "injected", **wanted)
        return rows[0][figure] if rows else None

    return reached


def _languages(report: Report) -> Reached:
    """The largest loss of recall at warn of a language against English, over sets and modes."""
    rows = _find(report, "injected", by="language", target=True)
    english = {(row["set"], row["mode"]): row["warn"] for row in rows if row["language"] == "en"}
    losses = [
        english[row["set"], row["mode"]] - row["warn"]
        for row in rows
        if row["language"] != "en" and (row["set"], row["mode"]) in english
    ]
    return max(losses, default=None)


def _restarts(ends: tuple[str, ...], figure: str) -> Callable[[Report], Reached]:
    def reached(report: Report) -> Reached:
        rows = [row for row in report.get("restarts", []) if row["run"].endswith(ends)]
        return sum(row[figure] for row in rows) if len(rows) == len(ends) else None

    return reached


def _alarms(hosts: str, severity: str) -> Callable[[Report], Reached]:
    """The worst mode's rate on one kind of host, as the limit is per mode."""

    def reached(report: Report) -> Reached:
        rows = _find(report, "false_alarms", rule=severity)
        rows = [row for row in rows if fnmatch(row["hosts"], hosts)]
        return max((row["per_100"] for row in rows), default=None)

    return reached


def _doubled(report: Report) -> Reached:
    rows = report.get("duplicated", [])
    return sum(row["differ"] for row in rows) if rows else None


def _ledger(report: Report) -> Reached:
    rows = _find(report, "agreement", group="Magentic-One", mode="FM-1.3", rule="suspect")
    return rows[0].get("kappa") if rows else None


_TAU = "tau-bench tool-calling"
# fmt: off
TARGETS: tuple[Target, ...] = (
    Target("turn-cap set, first half, all: kappa at suspect", ">=", 0.60,
           _silver("all", _HALF, "kappa", "suspect"), "FM-1.5"),
    Target("turn-cap set, first half, all: kappa at warn", ">=", 0.60,
           _silver("all", _HALF, "kappa", "warn"), "FM-1.5"),
    Target("turn-cap set, first half, group chats: kappa at suspect", ">=", 0.45,
           _silver("group", _HALF, "kappa", "suspect"), "FM-1.5"),
    Target("turn-cap set, first half, group chats: kappa at warn", ">=", 0.45,
           _silver("group", _HALF, "kappa", "warn"), "FM-1.5"),
    Target("turn-cap set, matched prefix: negatives flagged at suspect", "<=", 2,
           _silver("all", _PREFIX, "fp", "suspect"), "FM-1.5"),
    Target("turn-cap set, matched prefix: negatives flagged at warn", "<=", 2,
           _silver("all", _PREFIX, "fp", "warn"), "FM-1.5"),
    Target("overrun delay, two agents: median at warn", "<=", 4, _overrun("two agents"), "FM-1.5"),
    Target("overrun delay, group chats: median at warn", "<=", 8, _overrun("group"), "FM-1.5"),
    Target("planted repetition: recall at warn", ">=", 0.97, _planted("FM-1.3", "warn"), "FM-1.3"),
    Target("planted repetition: median rows after the third occurrence", "<=", 1,
           _planted("FM-1.3", "excess"), "FM-1.3"),
    Target("planted reset, request history visible: recall at warn", ">=", 0.95,
           _planted("FM-2.1", "warn", requests=True), "FM-2.1"),
    Target("planted reset, messages alone: recall at warn", ">=", 0.80,
           _planted("FM-2.1", "warn", requests=False), "FM-2.1"),
    Target("restarts in the two logs read by hand: found at warn, of 10", ">=", 9,
           _restarts(RESTARTED, "found_warn"), "FM-2.1"),
    Target("the log without restarts: findings at warn", "<=", 0,
           _restarts(NOT_RESTARTED, "false_warn"), "FM-2.1"),
    Target("ledger's loop label: kappa at suspect", ">", 0.69, _ledger, "FM-1.3"),
    Target("false alarms per 100 AG2 successes, worst mode at warn", "<=", 1.0,
           _alarms("AG2", "warn")),
    Target("false alarms per 100 AG2 successes, worst mode at alert", "<=", 0.3,
           _alarms("AG2", "alert")),
    Target("false alarms per 100 tau-bench successes, worst mode at warn", "<=", 1.5,
           _alarms(_TAU, "warn")),
    Target("false alarms per 100 tau-bench successes, worst mode at alert", "<=", 0.3,
           _alarms(_TAU, "alert")),
    Target("recall lost in another language against English, worst mode at warn", "<=", 0.05,
           _languages),
    Target("false alarms per 100 composed runs, worst language and mode at warn", "<=", 1.0,
           _alarms("composed, *", "warn")),
    Target("runs whose findings change when records are written twice or three times", "<=", 0,
           _doubled),
)
# fmt: on
