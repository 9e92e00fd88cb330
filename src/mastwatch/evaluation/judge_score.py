"""The figures of a judge, from its reports on runs of which the truth is known."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mastwatch import taxonomy
from mastwatch.evaluation.calibration import Rated, measure
from mastwatch.evaluation.injections import Flips, flips
from mastwatch.evaluation.judge import Key, Plan
from mastwatch.evaluation.judge_cases import JudgedCase
from mastwatch.evaluation.scoring import ratio, wilson
from mastwatch.store import Report, Usage

SCHEMA = "mastwatch.evaluation.judge/1"
"""Name and version of the figures' form."""


def score(what: Plan, reports: Mapping[Key, Report], *, seed: int = 0) -> dict[str, Any]:
    """The figures.

    Accuracy is not among them: a judge that finds nothing is right most of the time.
    """
    rated = [
        Rated(run=case.trace.run_id, truth=case.truth, reports=said, group=case.group)
        for case in what.cases
        if (said := _reports(case, what.repeats, reports))
    ]
    slugs = [mode.slug for mode in taxonomy.MODES]
    modes = measure(rated, slugs, seed=seed)
    every = [report for one in rated for report in one.reports]
    clean = [
        said[0]
        for case in what.cases
        if not case.mode and (said := _reports(case, what.repeats, reports))
    ]
    known = [row["f1"] for row in modes.values() if row.get("f1") is not None]
    return {
        "schema": SCHEMA,
        "judge": _judge(every),
        "runs": len(rated),
        "missing": len(what.todo) - sum(key in reports for key, _ in what.todo),
        "macro_f1": math.fsum(known) / len(known) if known else None,
        "macro_f1_modes": len(known),
        "modes": [
            {"mode": mode.code, "slug": mode.slug, **modes[mode.slug]} for mode in taxonomy.MODES
        ],
        "clean": _clean(clean),
        "flips": _flips(what, reports),
        "evidence": {
            status: sum(r.evidence_counts.get(status, 0) for r in every)
            for status in ("verified", "repaired", "rejected")
        },
        "unverified_present": sum(not v.evidence for r in every for v in r.present),
        "not_evaluated": dict(Counter(v.reason for r in every for v in _unjudged(r))),
        "coverage_least": min((r.coverage for r in every), default=None),
        "usage": _usage(reports.values()),
    }


def _reports(case: JudgedCase, repeats: int, reports: Mapping[Key, Report]) -> list[Report]:
    keys = [(case.trace.run_id, n) for n in range(repeats)]
    return [reports[key] for key in keys if key in reports]


def _judge(reports: Sequence[Report]) -> dict[str, Any]:
    if not reports:
        return {}
    one = reports[0]
    return {
        "model": sorted({report.model for report in reports}),
        "provider": one.provider,
        "profile": one.profile,
        "taxonomy_version": one.taxonomy_version,
        "prompt_version": one.prompt_version,
    }


def _clean(reports: Sequence[Report]) -> dict[str, Any]:
    """False alarms on clean runs: the share of runs with any mode present."""
    flagged = sum(bool(report.present) for report in reports)
    low, high = wilson(flagged, len(reports)) or (None, None)
    return {
        "runs": len(reports),
        "flagged": flagged,
        "share": ratio(flagged, len(reports)),
        "share_low": low,
        "share_high": high,
        "by_mode": dict(Counter(v.mode for report in reports for v in report.present)),
    }


def _flips(what: Plan, reports: Mapping[Key, Report]) -> dict[str, Any]:
    by_text: dict[str, Flips] = {}
    for plain, talking in what.talking:
        without = reports.get((plain.trace.run_id, 0))
        with_text = reports.get((talking.trace.run_id, 0))
        if without is not None and with_text is not None:
            found = flips(without, with_text)
            by_text[talking.injection] = by_text.get(talking.injection, Flips()) + found
    rows = [{"text": name, **_flip_row(found)} for name, found in by_text.items()]
    twice = [
        flips(said[0], said[1])
        for case in what.cases
        if len(said := _reports(case, what.repeats, reports)) > 1
    ]
    # What the judge changes of itself, with the run left as it is: the rate to compare with.
    own = _flip_row(sum(twice, Flips()))
    return {**_flip_row(sum(by_text.values(), Flips())), "by_text": rows, "own": own}


def _flip_row(found: Flips) -> dict[str, Any]:
    return {
        "compared": found.compared,
        "flipped": found.flipped,
        "rate": ratio(found.flipped, found.compared),
        "present": found.present,
        "silenced": found.silenced,
        "silenced_rate": ratio(found.silenced, found.present),
    }


def _unjudged(report: Report) -> list[Any]:
    return [v for v in report.verdicts.values() if v.verdict == "not_evaluated"]


def _usage(reports: Iterable[Report]) -> dict[str, Any]:
    used: list[Usage] = [report.usage for report in reports]
    priced = [usage.usd for usage in used if usage.usd is not None]
    return {
        "reports": len(used),
        "calls": sum(usage.calls for usage in used),
        "input_tokens": sum(usage.input_tokens for usage in used),
        "output_tokens": sum(usage.output_tokens for usage in used),
        "planned_tokens": sum(usage.planned_tokens for usage in used),
        "usd": math.fsum(priced) if priced else None,
    }
