"""The arithmetic of the evaluation: pure functions over counts, no detector in sight."""

from __future__ import annotations

import math
import random
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

RESAMPLES = 1_000
"""Bootstrap resamples behind an interval."""
_Z = 1.959964  # two-sided 95 %
_T = TypeVar("_T", int, float)


@dataclass(frozen=True, slots=True)
class Confusion:
    """How often a yes-or-no answer and a label agree.

    Attributes:
        tp: Flagged and positive.
        fp: Flagged and negative.
        fn: Not flagged and positive.
        tn: Neither.

    >>> counts = Confusion.of([(True, True), (True, False), (False, True), (False, False)])
    >>> counts.precision, counts.recall, counts.f1, counts.kappa
    (0.5, 0.5, 0.5, 0.0)
    >>> Confusion(18, 1, 1, 7).kappa  # doctest: +ELLIPSIS
    0.8223...
    """

    tp: int = 0
    fp: int = 0
    fn: int = 0
    tn: int = 0

    @classmethod
    def of(cls, pairs: Iterable[tuple[bool, bool]]) -> Confusion:
        """Count pairs of (flagged, positive)."""
        cells = [0, 0, 0, 0]
        for flagged, positive in pairs:
            cells[(0 if positive else 1) if flagged else (2 if positive else 3)] += 1
        return cls(*cells)

    def __add__(self, other: Confusion) -> Confusion:
        return Confusion(
            self.tp + other.tp, self.fp + other.fp, self.fn + other.fn, self.tn + other.tn
        )

    @property
    def n(self) -> int:
        """Runs counted."""
        return self.tp + self.fp + self.fn + self.tn

    @property
    def precision(self) -> float | None:
        """Share of the flagged that are positive; None when none is flagged."""
        return ratio(self.tp, self.tp + self.fp)

    @property
    def recall(self) -> float | None:
        """Share of the positives that are flagged; None when there is none."""
        return ratio(self.tp, self.tp + self.fn)

    @property
    def f1(self) -> float | None:
        """Harmonic mean of precision and recall; None without flags and positives."""
        return ratio(2 * self.tp, 2 * self.tp + self.fp + self.fn)

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa: agreement beyond chance.

        None where labels and flags leave nothing to agree on beyond chance (all in one cell).
        """
        n = self.n
        if n == 0:
            return None
        flagged, positive = self.tp + self.fp, self.tp + self.fn
        chance = (flagged * positive + (n - flagged) * (n - positive)) / n**2
        return None if chance == 1 else ((self.tp + self.tn) / n - chance) / (1 - chance)


def ratio(part: float, whole: float) -> float | None:
    """``part / whole``, None where there is no whole."""
    return part / whole if whole else None


def wilson(hits: int, n: int) -> tuple[float, float] | None:
    """Wilson's 95 % interval of a share; None for n = 0.

    >>> low, high = wilson(0, 71)
    >>> round(low, 3), round(high, 3)
    (0.0, 0.051)
    """
    if n == 0:
        return None
    share, z2 = hits / n, _Z**2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z * math.sqrt(share * (1 - share) / n + z2 / (4 * n**2)) / (1 + z2 / n)
    low = 0.0 if hits == 0 else max(0.0, middle - half)
    return low, 1.0 if hits == n else min(1.0, middle + half)


def kappa_interval(
    rows: Iterable[tuple[Hashable, bool, bool]], seed: str, resamples: int = RESAMPLES
) -> tuple[float, float] | None:
    """95 % percentile bootstrap of kappa; whole groups are drawn, so that kin moves together.

    Args:
        rows: (group, flagged, positive) of each run; the group is its problem.
        seed: Of the draws; the same seed gives the same interval.
        resamples: How many draws.

    >>> rows = [("a", True, True), ("b", False, False), ("c", True, True), ("d", False, False)]
    >>> kappa_interval(rows, "seed")
    (1.0, 1.0)
    """
    found = [k for table in resampled(rows, seed, resamples) if (k := table.kappa) is not None]
    return (quantile(found, 0.025), quantile(found, 0.975)) if found else None


def resampled(
    rows: Iterable[tuple[Hashable, bool, bool]], seed: str, resamples: int = RESAMPLES
) -> Iterator[Confusion]:
    """The tables of a bootstrap: as many groups as there are, drawn with replacement.

    Args:
        rows: (group, flagged, positive) of each run.
        seed: Of the draws.
        resamples: How many draws; none without rows.
    """
    groups: dict[Hashable, Confusion] = {}
    for group, flagged, positive in rows:
        groups[group] = groups.get(group, Confusion()) + Confusion.of([(flagged, positive)])
    tables = [(g.tp, g.fp, g.fn, g.tn) for g in groups.values()]
    draw = random.Random(seed)
    for _ in range(resamples if tables else 0):
        sample = draw.choices(tables, k=len(tables))
        yield Confusion(*map(sum, zip(*sample, strict=True)))


def quantile(values: Sequence[_T], share: float) -> float:
    """The value below which a share of the values lies, interpolated.

    A value that is infinite (never) stays infinite and is not averaged with a finite one.

    >>> quantile([1, 2, 3, 10], 0.5), quantile([5], 0.25)
    (2.5, 5.0)
    >>> quantile([1, 2, math.inf], 0.5), quantile([1, math.inf], 0.5)
    (2.0, inf)
    """
    ordered = sorted(values)
    place = (len(ordered) - 1) * share
    low, high = math.floor(place), math.ceil(place)
    if low == high:
        return float(ordered[low])
    if math.isinf(ordered[high]):
        return math.inf
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def best_threshold(rows: Sequence[tuple[int, bool]]) -> int:
    """The count from which "flag at this count or more" agrees best with the labels.

    Chosen on the very runs it is scored on, so the figure it gives is an upper bound; the smallest
    of equals wins.

    Args:
        rows: (count, positive) of each run; at least one.

    >>> best_threshold([(3, False), (5, False), (8, True), (9, True)])
    8
    """

    def agreement(threshold: int) -> float:
        kappa = Confusion.of((count >= threshold, positive) for count, positive in rows).kappa
        return kappa or 0.0

    return max(sorted({count for count, _ in rows}), key=agreement)
