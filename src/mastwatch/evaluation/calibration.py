"""Measures how well a judge agrees with labels, mode by mode, with intervals or "too few"."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mastwatch.evaluation.agreement import LEAST_POSITIVES, figures, observed, repeated
from mastwatch.evaluation.scoring import RESAMPLES, Confusion
from mastwatch.judge.calibrate import Calibration
from mastwatch.store import Report, Verdict

FOLDS = 5
_STEPS = tuple(n / 20 for n in range(20))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rated:
    """One run with what is true of it and what a judge said of it.

    Attributes:
        run: Its id.
        truth: By slug, whether a mode is present; modes that nobody rated are missing.
        reports: What the judge said, each time it was asked; the first counts.
        group: Runs of one group are kin: resampled together and never on both sides of a fold.
    """

    run: str
    truth: Mapping[str, bool]
    reports: Sequence[Report]
    group: str = ""


@dataclass(slots=True)
class _Mode:
    rows: list[tuple[str, bool, bool]] = field(default_factory=list)
    sure: list[tuple[str, float, bool]] = field(default_factory=list)
    unsure: int = 0
    not_evaluated: int = 0
    times: list[list[bool]] = field(default_factory=list)


def measure(
    rated: Iterable[Rated],
    slugs: Sequence[str],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    least: int = LEAST_POSITIVES,
) -> dict[str, dict[str, Any]]:
    """The figures by mode.

    ``unsure`` counts as not found. What was not evaluated is left out and counted. Below ``least``
    positives ``too_few`` stands in place of the figures.

    Args:
        rated: The runs.
        slugs: The modes.
        seed: Of draws and folds.
        resamples: Of the bootstrap.
        least: Positives from which figures are given.
    """
    runs = list(rated)
    return {slug: _measured(_collect(runs, slug), slug, seed, resamples, least) for slug in slugs}


def calibration(
    rated: Sequence[Rated], slugs: Sequence[str], date: str, *, seed: int = 0
) -> Calibration:
    """A calibration of the judge whose reports these are.

    Raises:
        ValueError: The reports are of several judges, or there is none.
    """
    judges = {
        (report.taxonomy_version, report.prompt_version, report.model)
        for one in rated
        for report in one.reports
    }
    if len(judges) != 1:
        raise ValueError(f"reports of one judge are needed, these are of {len(judges)}")
    taxonomy_version, prompt_version, model = judges.pop()
    return Calibration(
        taxonomy_version=taxonomy_version,
        prompt_version=prompt_version,
        model=model,
        date=date,
        runs=len(rated),
        modes=measure(rated, slugs, seed=seed),
    )


def by_judge(rated: Iterable[Rated]) -> list[list[Rated]]:
    """The runs apart by who judged them: taxonomy, prompt and model."""
    judges: dict[tuple[str, str, str], list[Rated]] = {}
    for one in rated:
        apart: dict[tuple[str, str, str], list[Report]] = {}
        for report in one.reports:
            who = report.taxonomy_version, report.prompt_version, report.model
            apart.setdefault(who, []).append(report)
        for who, reports in apart.items():
            judges.setdefault(who, []).append(replace(one, reports=reports))
    return list(judges.values())


def _collect(runs: Sequence[Rated], slug: str) -> _Mode:
    mode = _Mode()
    for one in runs:
        verdicts = [v for r in one.reports if (v := r.verdicts.get(slug)) is not None]
        said = [v.verdict == "present" for v in verdicts if v.verdict != "not_evaluated"]
        if len(said) > 1:
            mode.times.append(said)
        if slug not in one.truth or not verdicts:
            continue
        first = verdicts[0]
        if first.verdict == "not_evaluated":
            mode.not_evaluated += 1
            continue
        group, positive = one.group or one.run, one.truth[slug]
        mode.unsure += first.verdict == "unsure"
        mode.rows.append((group, first.verdict == "present", positive))
        mode.sure.append((group, _sureness(first), positive))
    return mode


def _sureness(verdict: Verdict) -> float:
    """Its confidence where a mode was found; below any threshold where it was not."""
    if verdict.verdict != "present":
        return -1.0
    return 1.0 if verdict.confidence is None else verdict.confidence


def _measured(mode: _Mode, slug: str, seed: int, resamples: int, least: int) -> dict[str, Any]:
    table = Confusion.of((flagged, positive) for _, flagged, positive in mode.rows)
    shown: dict[str, Any] = {
        "n": table.n,
        "positives": table.tp + table.fn,
        "tp": table.tp,
        "fp": table.fp,
        "fn": table.fn,
        "tn": table.tn,
        "unsure": mode.unsure,
        "not_evaluated": mode.not_evaluated,
    }
    itself = repeated(mode.times)
    shown |= {
        "repeated_runs": len(mode.times),
        "repeat_agreement": observed(itself),
        "repeat_kappa": itself.kappa,
    }
    if table.tp + table.fn < least:
        return {**shown, "too_few": True}
    for name, figure in figures(mode.rows, f"{seed}:{slug}", resamples=resamples).items():
        shown |= {name: figure.value, f"{name}_low": figure.low, f"{name}_high": figure.high}
    return shown | _threshold(mode.sure, f"{seed}:{slug}:folds")


def _threshold(rows: Sequence[tuple[str, float, bool]], seed: str) -> dict[str, Any]:
    """Confidence from which ``present`` is to be believed, and what it is worth unseen.

    Chosen on all runs, the lowest of equals; ``threshold_f1`` is the F1 where each fold is scored
    with the threshold chosen on the others. Groups are never split. Empty with too few of them.
    """
    groups = sorted({group for group, _, _ in rows})
    if len(groups) < FOLDS:
        return {}
    random.Random(seed).shuffle(groups)
    fold = {group: n % FOLDS for n, group in enumerate(groups)}
    held: dict[int, list[tuple[str, float, bool]]] = defaultdict(list)
    for row in rows:
        held[fold[row[0]]].append(row)
    unseen = Confusion()
    for n, part in held.items():
        chosen = _best(row for other, found in held.items() if other != n for row in found)
        unseen += _at(part, chosen)
    return {"threshold": _best(rows), "threshold_f1": unseen.f1}


def _best(rows: Iterable[tuple[str, float, bool]]) -> float:
    kept = list(rows)
    return max(_STEPS, key=lambda step: (_at(kept, step).f1 or 0.0, -step))


def _at(rows: Iterable[tuple[str, float, bool]], threshold: float) -> Confusion:
    return Confusion.of((sure >= threshold, positive) for _, sure, positive in rows)
