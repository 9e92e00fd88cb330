"""Many runs at once: which modes occur, where, together with what, and whether they are fatal.

A mode that was not evaluated in a run is left out of that run's counts; it never counts as absent.
"""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from mastwatch.reports.cases import Case
from mastwatch.reports.deciders import Deciders, deciders
from mastwatch.reports.intervals import Interval, odds_ratio
from mastwatch.reports.tallies import Period, Tally, tally, trend

SUMMARY_SCHEMA = 1
"""Version of the summary's JSON."""
MIN_RUNS = 5
"""Fewest runs in each margin of the table of mode and outcome; below it stands "too few"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fatality:
    """A mode against the outcome, over runs that say present or absent and whose outcome is known.

    Attributes:
        with_failed, with_ok, without_failed, without_ok: Runs with and without the mode.
        odds: Odds ratio of failure, corrected after Haldane; None when there are too few runs.
    """

    with_failed: int
    with_ok: int
    without_failed: int
    without_ok: int
    odds: Interval | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What is known of many runs.

    Attributes:
        cases: The runs, newest first.
        modes: Display form by key, in the taxonomy's order.
        tallies: By mode.
        groups: By dimension (``framework``, ``release``, ``agent``, ``model``, ``judge``), value
            and mode. A run counts for every agent that took part in it; it is present for those
            in whose messages its evidence stands.
        together: Runs that show two modes, and runs in which both were evaluated.
        fatality: By mode.
        outcomes: Who says whether runs failed.
        reasons: Verdicts not evaluated, by reason.
        trend: By day or week, without gaps.
        usd: Cost of the runs whose price is known; None when none is.
        usd_runs: How many those are.
        usd_median, usd_max: Per run.
        tokens: All tokens.
        whole: Judged runs with coverage 1.0.
        deciders: Who decides failures.
    """

    cases: tuple[Case, ...]
    modes: Mapping[str, str]
    tallies: Mapping[str, Tally]
    groups: Mapping[str, Mapping[str, Mapping[str, Tally]]]
    together: Mapping[tuple[str, str], tuple[int, int]]
    fatality: Mapping[str, Fatality]
    outcomes: Mapping[str, int]
    reasons: Mapping[str, int]
    trend: tuple[Period, ...]
    usd: float | None
    usd_runs: int
    usd_median: float | None
    usd_max: float | None
    tokens: int
    whole: int
    deciders: Deciders


def summarise(cases: Iterable[Case]) -> Summary:
    """Count.

    Args:
        cases: The runs, in any order.
    """
    runs = sorted(cases, key=lambda c: (-c.at, c.run_id))
    modes = {slug: code for run in runs for slug, code in run.modes.items()}
    costs = [run.usage.usd for run in runs if run.usage.usd is not None]
    return Summary(
        cases=tuple(runs),
        modes=modes,
        tallies={slug: tally(slug, runs) for slug in modes},
        groups={name: _grouped(runs, modes, keys) for name, keys in _DIMENSIONS.items()},
        together=_together(runs, modes),
        fatality={slug: _fatality(slug, runs) for slug in modes},
        outcomes=dict(Counter(run.failed_by or "unknown" for run in runs)),
        reasons=dict(Counter(r for run in runs for r in run.reasons.values()).most_common()),
        trend=trend(runs, modes),
        usd=sum(costs) if costs else None,
        usd_runs=len(costs),
        usd_median=statistics.median(costs) if costs else None,
        usd_max=max(costs, default=None),
        tokens=sum(run.usage.input_tokens + run.usage.output_tokens for run in runs),
        whole=sum(run.coverage >= 1 for run in runs),
        deciders=deciders(runs),
    )


def summary_dict(summary: Summary) -> dict[str, Any]:
    """A summary as plain values: the versioned JSON that users read."""
    told: dict[str, Any] = asdict(summary)
    told["cases"] = [asdict(run) for run in summary.cases]
    told["together"] = [
        {"modes": list(pair), "both": both, "evaluated": n}
        for pair, (both, n) in summary.together.items()
    ]
    told["runs"] = told.pop("cases")
    return {"schema": SUMMARY_SCHEMA, **told}


def summary_document(summary: Summary) -> str:
    """A summary as a JSON file."""
    return json.dumps(summary_dict(summary), indent=1) + "\n"


_DIMENSIONS: Mapping[str, Callable[[Case], Sequence[str]]] = {
    "framework": lambda run: (run.framework,),
    "release": lambda run: (run.release,),
    "agent": lambda run: run.agents,
    "model": lambda run: run.models,
    "judge": lambda run: (run.judge,),
}


def _grouped(
    runs: Sequence[Case], modes: Iterable[str], keys: Callable[[Case], Sequence[str]]
) -> dict[str, dict[str, Tally]]:
    members: dict[str, list[Case]] = {}
    for run in runs:
        for key in keys(run):
            if key:
                members.setdefault(key, []).append(run)
    by_agent = keys is _DIMENSIONS["agent"]
    ordered = sorted(members.items(), key=lambda item: (-len(item[1]), item[0]))
    return {
        key: {slug: tally(slug, group, key if by_agent else "") for slug in modes}
        for key, group in ordered
    }


def _together(runs: Sequence[Case], modes: Iterable[str]) -> dict[tuple[str, str], tuple[int, int]]:
    both: Counter[tuple[str, str]] = Counter()
    evaluated: Counter[tuple[str, str]] = Counter()
    order = list(modes)
    for run in runs:
        known = [m for m in order if run.verdicts.get(m, "not_evaluated") != "not_evaluated"]
        evaluated.update(combinations(known, 2))
        both.update(combinations([m for m in known if run.verdicts[m] == "present"], 2))
    return {pair: (count, evaluated[pair]) for pair, count in both.most_common()}


def _fatality(slug: str, runs: Iterable[Case]) -> Fatality:
    cells: Counter[tuple[str, bool]] = Counter()
    for run in runs:
        word = run.verdicts.get(slug)
        if run.failed is not None and word in ("present", "absent"):
            cells[word, run.failed] += 1
    a, b = cells["present", True], cells["present", False]
    c, d = cells["absent", True], cells["absent", False]
    enough = min(a + b, c + d, a + c, b + d) >= MIN_RUNS
    odds = odds_ratio(a, b, c, d) if enough else None
    return Fatality(with_failed=a, with_ok=b, without_failed=c, without_ok=d, odds=odds)
