"""How soon: delay over the moment a run should have ended, and the share of it that was left."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mastwatch.evaluation.examine import Examined
from mastwatch.evaluation.labelled import LEVELS, Row, groups, matched
from mastwatch.evaluation.scoring import quantile


def overrun(runs: Sequence[Examined]) -> list[Row]:
    """Messages from the end of the matched negative to the first FM-1.5 finding on the positive.

    A finding before that end counts as 0; a run without a finding counts as never, so that a
    detector cannot look fast by missing the hard ones.
    """
    rows: list[Row] = []
    for name, group, members in groups(runs):
        partners = matched(members)
        positives = [run for run in members if run.id in partners]
        for level in LEVELS if positives else ():
            delays = [_overrun(run, partners[run.id], level) for run in positives]
            found = [delay for delay in delays if not math.isinf(delay)]
            rows.append(
                {"set": name, "group": group, "severity": level.label, "pairs": len(delays)}
                | {"found": len(found), "early": sum(delay == 0 for delay in found)}
                | quartiles(delays)
                | {"median_of_found": _finite(quantile(found, 0.5)) if found else None}
            )
    return rows


def _overrun(run: Examined, negative: Examined, level: int) -> float:
    row = run.first("FM-1.5", level)
    return math.inf if row is None else max(0, row - negative.rows + 1)


def saved(runs: Sequence[Examined], modes: Sequence[str]) -> list[Row]:
    """Of flagged positive runs: the share of the transcript that came after the first finding."""
    rows: list[Row] = []
    for name, group, members in groups(runs):
        for mode in modes:
            positives = [run for run in members if run.labels.get(mode)]
            for level in LEVELS if positives else ():
                shares = [
                    (run.rows - 1 - row) / run.rows
                    for run in positives
                    if (row := run.first(mode, level)) is not None
                ]
                rows.append(
                    {"set": name, "group": group, "mode": mode, "severity": level.label}
                    | {"positives": len(positives), "flagged": len(shares)}
                    | quartiles(shares)
                )
    return rows


def since_label(runs: Sequence[Examined], mode: str = "FM-1.3") -> list[Row]:
    """Rows from the first loop that a run's own ledger admits to the first finding.

    Negative where the detectors spoke first.
    """
    told = [run for run in runs if run.kind == "labelled" and run.loops_at]
    rows: list[Row] = []
    for level in LEVELS if told else ():
        delays = [
            row - run.loops_at[0] for run in told if (row := run.first(mode, level)) is not None
        ]
        rows.append(
            {"set": told[0].set, "mode": mode, "severity": level.label}
            | {"positives": len(told), "found": len(delays)}
            | quartiles(delays)
        )
    return rows


def quartiles(values: Sequence[float]) -> Row:
    """First quartile, median and third; None for one that is never reached or not there."""
    names = ("q1", "median", "q3")
    if not values:
        return dict.fromkeys(names)
    shares = (0.25, 0.5, 0.75)
    return {n: _finite(quantile(values, s)) for n, s in zip(names, shares, strict=True)}


def _finite(value: float) -> float | None:
    return None if math.isinf(value) else value
