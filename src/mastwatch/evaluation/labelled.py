"""Agreement with the labels of real runs: every severity beside the floors and the bare length."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from mastwatch.evaluation import floors, scoring
from mastwatch.evaluation.examine import Examined
from mastwatch.evaluation.scoring import Confusion
from mastwatch.findings import Severity

LEVELS = (Severity.SUSPECT, Severity.WARN, Severity.ALERT)
"""Levels that are scored; what is flagged at one is flagged at those below."""
SMALL = 20
"""Up to so many runs only counts are given: a rate of them would promise too much."""

Row: TypeAlias = dict[str, Any]
Cuts: TypeAlias = "Mapping[str, int | None]"
"""By run id: the row before which it was cut; None for the whole run."""
Rule: TypeAlias = Callable[[Examined], bool]
"""Says whether a run is flagged."""


def agreement(runs: Sequence[Examined], modes: Sequence[str], seed: int) -> list[Row]:
    """How findings agree with labels, per set, group, view and mode.

    Args:
        runs: All that was examined.
        modes: The modes that have a detector.
        seed: Of the bootstrap.

    Returns:
        One row per view, mode and rule, ``rule`` being a severity or a floor.
    """
    rows: list[Row] = []
    for name, group, members in groups(runs):
        for view, cuts in _views(members).items():
            for mode in modes:
                labelled = [run for run in members if mode in run.labels]
                if labelled and (view == "whole run" or mode == "FM-1.5"):
                    head = {"set": name, "group": group, "view": view, "mode": mode}
                    rows += _rules(head, labelled, cuts, seed)
    return rows


def groups(runs: Sequence[Examined]) -> Iterator[tuple[str, str, list[Examined]]]:
    """The labelled runs by set and, inside it, by what must not be mixed."""
    labelled = [run for run in runs if run.kind == "labelled"]
    for name in dict.fromkeys(run.set for run in labelled):
        members = [run for run in labelled if run.set == name]
        if all(run.about_turns for run in members):
            yield name, "all", members
            for speakers in ("two agents", "group"):
                yield name, speakers, [run for run in members if run.speakers == speakers]
        else:
            for framework in dict.fromkeys(run.framework for run in members):
                kin = [run for run in members if run.framework == framework]
                yield name, framework or "all", kin


def matched(runs: Sequence[Examined], mode: str = "FM-1.5") -> dict[str, Examined]:
    """By id of a turn-cap positive: the negative of the same configuration and problem."""
    negatives = {run.pair: run for run in runs if run.about_turns and not run.labels[mode]}
    return {
        run.id: negatives[run.pair]
        for run in runs
        if run.about_turns and run.labels[mode] and run.pair in negatives
    }


def _views(runs: Sequence[Examined]) -> dict[str, Cuts]:
    views: dict[str, Cuts] = {"whole run": {run.id: None for run in runs}}
    if runs and all(run.about_turns for run in runs):
        views["first half of the turns"] = {run.id: (run.turn_cap or 0) // 2 for run in runs}
        partners = matched(runs)
        prefix: dict[str, int | None] = {run.id: run.rows for run in partners.values()}
        prefix.update({positive: negative.rows for positive, negative in partners.items()})
        views["matched prefix"] = prefix
    return views


def _rules(head: Row, runs: Sequence[Examined], cuts: Cuts, seed: int) -> list[Row]:
    mode = head["mode"]
    seen = [run for run in runs if run.id in cuts]
    if not seen:
        return []
    counts = [(_length(run, cuts[run.id]), run.labels[mode]) for run in seen]
    enough = scoring.best_threshold(counts)
    rules = {level.label: _by_finding(mode, level, cuts) for level in LEVELS}
    rules[f"message count >= {enough} (best in sample)"] = _by_length(enough, cuts)
    rules["always positive"] = lambda run: True
    rules |= {floor: _by_floor(floor, cuts) for floor in floors.BY_MODE.get(mode, ())}
    return [_score(head, name, rule, seen, seed) for name, rule in rules.items()]


def _by_finding(mode: str, level: Severity, cuts: Cuts) -> Rule:
    return lambda run: run.flagged(mode, level, cuts[run.id])


def _by_length(enough: int, cuts: Cuts) -> Rule:
    return lambda run: _length(run, cuts[run.id]) >= enough


def _by_floor(floor: str, cuts: Cuts) -> Rule:
    def fires(run: Examined) -> bool:
        row, cut = run.floors.get(floor), cuts[run.id]
        return row is not None and (cut is None or row < cut)

    return fires


def _length(run: Examined, cut: int | None) -> int:
    return run.messages if cut is None else min(run.messages, cut)


def _score(head: Row, rule: str, flags: Rule, runs: Sequence[Examined], seed: int) -> Row:
    mode = head["mode"]
    answers = [(run.problem, flags(run), run.labels[mode]) for run in runs]
    counts = Confusion.of((flagged, positive) for _, flagged, positive in answers)
    row = {
        **head,
        "rule": rule,
        "runs": counts.n,
        "positives": counts.tp + counts.fn,
        "tp": counts.tp,
        "fp": counts.fp,
        "fn": counts.fn,
        "tn": counts.tn,
    }
    if counts.n <= SMALL:
        return row
    key = ":".join(map(str, (seed, *head.values(), rule)))
    interval = scoring.kappa_interval(answers, key) or (None, None)
    return row | {
        "precision": counts.precision,
        "recall": counts.recall,
        "f1": counts.f1,
        "kappa": counts.kappa,
        "kappa_low": interval[0],
        "kappa_high": interval[1],
    }
