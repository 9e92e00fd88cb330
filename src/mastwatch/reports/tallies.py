"""How often modes occur: in all runs, in some of them, and over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from mastwatch.reports.cases import Case
from mastwatch.reports.intervals import Interval, wilson

MAX_DAYS = 60
"""Longer spans of time are shown by week."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How often a mode occurs in some runs.

    Attributes:
        present, unsure, absent, not_evaluated: Runs by verdict.
        share: Present among the evaluated runs, with its interval; None when there are none.
    """

    present: int = 0
    unsure: int = 0
    absent: int = 0
    not_evaluated: int = 0
    share: Interval | None = None

    @property
    def evaluated(self) -> int:
        """Runs in which the mode was evaluated; ``unsure`` is a result too."""
        return self.present + self.unsure + self.absent


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """A day or a week.

    Attributes:
        start: Its first day, ISO, UTC.
        runs: Runs that ended in it.
        flagged: Those with a present mode.
        present: Runs by mode.
        evaluated: Runs in which the mode was evaluated, by mode.
    """

    start: str
    runs: int
    flagged: int
    present: Mapping[str, int]
    evaluated: Mapping[str, int]


def tally(slug: str, runs: Iterable[Case], agent: str = "") -> Tally:
    """Count the verdicts on a mode.

    Args:
        slug: The mode.
        runs: The runs.
        agent: Count as present only what is in this agent's messages; empty for any.
    """
    counts: Counter[str] = Counter()
    for run in runs:
        word = run.verdicts.get(slug)
        if word == "present" and agent and agent not in run.blamed.get(slug, ()):
            word = "absent"  # for this agent: the evidence is another's
        if word is not None:
            counts[word] += 1
    n = counts["present"] + counts["unsure"] + counts["absent"]
    return Tally(**counts, share=wilson(counts["present"], n))


def trend(runs: Sequence[Case], modes: Iterable[str]) -> tuple[Period, ...]:
    """Runs by day, or by week where there are many days, without gaps.

    Args:
        runs: The runs.
        modes: Keys of the modes.
    """
    dated = [(datetime.fromtimestamp(run.at, timezone.utc).date(), run) for run in runs if run.at]
    if not dated:
        return ()
    first, last = min(day for day, _ in dated), max(day for day, _ in dated)
    weekly = (last - first).days >= MAX_DAYS
    step = timedelta(days=7 if weekly else 1)
    if weekly:
        first -= timedelta(days=first.weekday())
    members: dict[int, list[Case]] = {}
    for day, run in dated:
        members.setdefault((day - first) // step, []).append(run)
    slugs = list(modes)
    return tuple(
        _period((first + number * step).isoformat(), members.get(number, []), slugs)
        for number in range((last - first) // step + 1)
    )


def _period(start: str, runs: Sequence[Case], modes: Sequence[str]) -> Period:
    tallies = {slug: tally(slug, runs) for slug in modes}
    return Period(
        start=start,
        runs=len(runs),
        flagged=sum(bool(run.present) for run in runs),
        present={slug: tally.present for slug, tally in tallies.items()},
        evaluated={slug: tally.evaluated for slug, tally in tallies.items()},
    )
