"""Shares and odds with their 95 % intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass

_Z = 1.959964


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate and the 95 % interval around it."""

    value: float
    low: float
    high: float


def wilson(hits: int, n: int) -> Interval | None:
    """A share with Wilson's interval; None for n = 0.

    >>> wilson(0, 0) is None, round(wilson(5, 10).low, 3), round(wilson(0, 10).high, 3)
    (True, 0.237, 0.278)
    """
    if n == 0:
        return None
    share, z2 = hits / n, _Z**2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z * math.sqrt(share * (1 - share) / n + z2 / (4 * n**2)) / (1 + z2 / n)
    return Interval(share, max(0.0, middle - half), min(1.0, middle + half))


def odds_ratio(both: int, first: int, second: int, neither: int) -> Interval:
    """How much greater the odds of one thing are where another is, corrected after Haldane.

    Half a run is added to each cell (Haldane 1956, Gart's interval), so that a cell of zero gives
    a wide interval and no infinity.

    Args:
        both: Runs with the mode that failed.
        first: Runs with the mode that did not fail.
        second: Runs without it that failed.
        neither: Runs without it that did not fail.

    >>> found = odds_ratio(9, 1, 10, 10)
    >>> round(found.value, 2), round(found.low, 2), round(found.high, 1)
    (6.33, 0.93, 43.3)
    """
    a, b, c, d = (cell + 0.5 for cell in (both, first, second, neither))
    log = math.log(a * d / (b * c))
    half = _Z * math.sqrt(1 / a + 1 / b + 1 / c + 1 / d)
    return Interval(math.exp(log), math.exp(log - half), math.exp(log + half))
