"""Agreement between a judge and people, between two people, and of a judge with itself.

Kappa collapses where a mode is rare or common: two raters who agree on 95 of 100 runs may have a
kappa near 0. So two coefficients stand beside it that prevalence does not move as much: Gwet's AC1
and PABAK. Pure functions over counts.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

from mastwatch.evaluation.scoring import RESAMPLES, Confusion, quantile, ratio, resampled

LEAST_POSITIVES = 10
"""Below so many positives no figure of agreement is given: it would say little but look precise."""

Statistic: TypeAlias = Callable[[Confusion], float | None]
Rows: TypeAlias = Iterable[tuple[Hashable, bool, bool]]
"""(group, flagged, positive); runs of one group are kin and are drawn together."""


def observed(table: Confusion) -> float | None:
    """Share of runs on which both say the same; high for any rare mode, so never reported alone."""
    return ratio(table.tp + table.tn, table.n)


def ac1(table: Confusion) -> float | None:
    """Gwet's AC1: agreement beyond chance, where chance is that of guessing.

    >>> round(ac1(Confusion(tp=118, fp=5, fn=2, tn=0)), 2), round(Confusion(118, 5, 2, 0).kappa, 2)
    (0.94, -0.02)
    """
    agree = observed(table)
    if agree is None:
        return None
    share = ((table.tp + table.fp) + (table.tp + table.fn)) / (2 * table.n)
    chance = 2 * share * (1 - share)
    return (agree - chance) / (1 - chance)


def pabak(table: Confusion) -> float | None:
    """Prevalence-adjusted bias-adjusted kappa: what is left of agreement when half is luck.

    >>> pabak(Confusion(tp=40, fp=5, fn=5, tn=50))
    0.8
    """
    agree = observed(table)
    return None if agree is None else 2 * agree - 1


STATISTICS: Mapping[str, Statistic] = {
    "precision": lambda table: table.precision,
    "recall": lambda table: table.recall,
    "f1": lambda table: table.f1,
    "kappa": lambda table: table.kappa if table.tp + table.fn else None,
    "ac1": ac1,
    "pabak": pabak,
}
"""What is reported of a mode. Kappa has no meaning without positives."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure and its 95 % interval; None where it is undefined."""

    value: float | None
    low: float | None = None
    high: float | None = None


def figures(
    rows: Rows,
    seed: str,
    statistics: Mapping[str, Statistic] = STATISTICS,
    resamples: int = RESAMPLES,
) -> dict[str, Figure]:
    """Each statistic with the 95 % percentile interval of a seeded bootstrap over groups.

    >>> rows = [(n, n < 10, n < 12) for n in range(40)]
    >>> found = figures(rows, "seed")
    >>> round(found["recall"].value, 2), found["precision"].low
    (0.83, 1.0)
    """
    kept = list(rows)
    whole = Confusion.of((flagged, positive) for _, flagged, positive in kept)
    draws = list(resampled(kept, seed, resamples))
    return {name: _figure(statistic, whole, draws) for name, statistic in statistics.items()}


def _figure(statistic: Statistic, whole: Confusion, draws: Sequence[Confusion]) -> Figure:
    value = statistic(whole)
    drawn = [x for table in draws if (x := statistic(table)) is not None]
    if value is None or not drawn:
        return Figure(value)
    return Figure(value, quantile(drawn, 0.025), quantile(drawn, 0.975))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """How two raters agree on one mode.

    Attributes:
        first, second: Who; in the table the first is "flagged" and the second "positive".
        slug: The mode.
        table: Runs that both rated.
        disagreements: Runs that they rate differently.
    """

    first: str
    second: str
    slug: str
    table: Confusion
    disagreements: tuple[str, ...]


def pairwise(ratings: Mapping[str, Mapping[tuple[str, str], bool]]) -> list[Pair]:
    """Compare every two raters on every mode that both rated.

    Args:
        ratings: By rater, then by (run, slug).

    >>> a = {("run-1", "step_repetition"): True, ("run-2", "step_repetition"): False}
    >>> b = {("run-1", "step_repetition"): True, ("run-2", "step_repetition"): True}
    >>> [(p.first, p.second, p.disagreements) for p in pairwise({"ann": a, "bob": b})]
    [('ann', 'bob', ('run-2',))]
    """
    pairs = []
    for first, second in combinations(sorted(ratings), 2):
        both = ratings[first].keys() & ratings[second].keys()
        for slug in sorted({slug for _, slug in both}):
            runs = sorted(run for run, of in both if of == slug)
            said = [(ratings[first][run, slug], ratings[second][run, slug]) for run in runs]
            differ = (run for run, (one, other) in zip(runs, said, strict=True) if one != other)
            pairs.append(
                Pair(
                    first=first,
                    second=second,
                    slug=slug,
                    table=Confusion.of(said),
                    disagreements=tuple(differ),
                )
            )
    return pairs


def repeated(said: Iterable[Sequence[bool]]) -> Confusion:
    """How a judge agrees with itself: every two verdicts on one run, both ways round.

    Args:
        said: Of each run, what was said of a mode each time.

    >>> repeated([(True, True), (False, False), (True, False)]).kappa is not None
    True
    """
    pairs = [
        pair
        for times in said
        for one, other in combinations(times, 2)
        for pair in ((one, other), (other, one))
    ]
    return Confusion.of(pairs)
