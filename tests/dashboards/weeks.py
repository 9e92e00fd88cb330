"""Simulated weeks of healthy runs, some flagged by mistake: how often would somebody be woken?

``python tests/dashboards/weeks.py`` prints the table of ``docs/alerts.md``.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Sequence
from itertools import accumulate

MINUTES = 7 * 24 * 60
Minute = tuple[int, int]
"""Runs that ended, and how many of them were flagged."""


def week(per_day: float, false_rate: float, rng: random.Random) -> list[Minute]:
    """A week of runs: few by night, many by day, in no other order."""
    minutes = []
    for minute in range(MINUTES):
        by_day = 1 + 0.8 * math.sin(2 * math.pi * (minute / 1_440 - 0.25))
        ended = _poisson(per_day / 1_440 * by_day, rng)
        minutes.append((ended, sum(rng.random() < false_rate for _ in range(ended))))
    return minutes


def _poisson(mean: float, rng: random.Random) -> int:
    if mean > 30:
        return max(0, round(rng.gauss(mean, math.sqrt(mean))))
    limit, count, product = math.exp(-mean), 0, rng.random()
    while product > limit:
        count, product = count + 1, product * rng.random()
    return count


def pages(
    minutes: Sequence[Minute], *, share: float = 0.1, least: int = 5, long: int = 60,
    short: int = 15, hold: int = 2, linger: int = 15,
) -> int:  # fmt: skip
    """How often the ratio alert would start to fire; what the rules say, in minutes."""
    ended = [0, *accumulate(m[0] for m in minutes)]
    flagged = [0, *accumulate(m[1] for m in minutes)]
    count, held, until = 0, 0, -1
    for now in range(1, len(ended)):
        far, near = max(0, now - long), max(0, now - short)
        in_long, in_short = flagged[now] - flagged[far], flagged[now] - flagged[near]
        true = (
            in_long >= least
            and in_long > share * (ended[now] - ended[far])
            and in_short > share * (ended[now] - ended[near])
        )
        held = held + 1 if true else 0
        if held > hold:
            count += now > until
            until = now + linger
    return count


def occurrences(minutes: Sequence[Minute], short: int = 15) -> int:
    """How often the any-occurrence alert would start to fire."""
    count, until = 0, -1
    for now, (_, flagged) in enumerate(minutes):
        if flagged:
            count += now > until
            until = now + short
    return count


def series(minutes: Sequence[Minute], which: int) -> str:
    """A counter in promtool's notation."""
    return " ".join(map(str, accumulate(minute[which] for minute in minutes)))


def main(weeks: int = 40) -> None:
    rng = random.Random(0)
    print("| runs a day | flagged by mistake | false pages a week, ratio | any occurrence |")
    print("|---|---|---|---|")
    for per_day in (10, 100, 250, 500, 1_000, 2_000, 10_000, 100_000):
        for rate in (0.01, 0.0056):
            simulated = [week(per_day, rate, rng) for _ in range(weeks if per_day < 5e4 else 4)]
            ratio = sum(map(pages, simulated)) / len(simulated)
            every = sum(map(occurrences, simulated)) / len(simulated)
            print(f"| {per_day:,} | {rate:.2%} | {ratio:.2f} | {every:.1f} |")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
