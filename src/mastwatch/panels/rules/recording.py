"""Recording rules: how many runs there were, and how many of them showed a failure mode.

Names follow ``level:metric:operation``. All are grouped by what tells deployments apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from mastwatch import metric_names as names
from mastwatch.panels.promql import gained, select, total
from mastwatch.panels.rules.parameters import Parameters
from mastwatch.panels.yaml import Value


class Recording(NamedTuple):
    """A recording rule."""

    name: str
    expr: str


APART = ("job", "environment")
"""Deployments are told apart by these; rules never mix two."""
BY_MODE = (*APART, "mode")
_ON_APART = f"on ({', '.join(APART)}) group_left ()"
_WARN_OR_ABOVE = "~warn|alert"


def runs(window: str) -> str:
    """Name of: runs that ended in the window."""
    return f"job:{names.PREFIX}runs:gained{window}"


def flagged(window: str) -> str:
    """Name of: runs, by mode, that reached warn or above in the window."""
    return f"job_mode:{names.PREFIX}flagged_runs:gained{window}"


def flagged_share(window: str) -> str:
    """Name of: flagged runs per run that ended."""
    return f"job_mode:{names.PREFIX}flagged_runs:share{window}"


def judged(window: str) -> str:
    """Name of: runs, by mode, that the judge could decide on in the window."""
    return f"job_mode:{names.PREFIX}judged_runs:gained{window}"


def present(window: str) -> str:
    """Name of: runs, by mode, in which the judge found it in the window."""
    return f"job_mode:{names.PREFIX}judge_present:gained{window}"


def present_share(window: str) -> str:
    """Name of: runs in which the judge found the mode, per judged run."""
    return f"job_mode:{names.PREFIX}judge_present:share{window}"


def recording_groups(p: Parameters) -> list[Value]:
    """The groups of recording rules."""
    groups = [
        ("mastwatch-recording", p.every, _often(p)),
        ("mastwatch-recording-compared", p.every_compared, _seldom(p)),
    ]
    return [
        {
            "name": name,
            "interval": every,
            "rules": [{"record": record, "expr": expr} for record, expr in rules],
        }
        for name, every, rules in groups
    ]


def recordings(p: Parameters) -> list[Recording]:
    """All recording rules."""
    return [*_often(p), *_seldom(p)]


def _often(p: Parameters) -> list[Recording]:
    windows = dict.fromkeys((p.long, p.short))
    return [rule for window in windows for rule in (*_live(window), *_judge(window))]


def _seldom(p: Parameters) -> list[Recording]:
    return [*_live(p.compared), *_judge(p.compared)]


def _live(window: str) -> Iterator[Recording]:
    ended = gained(names.RUNS, window, by=APART, matchers={"outcome": "!paused"})
    yield Recording(runs(window), ended)
    yield Recording(flagged(window), flagged_runs(window))
    yield Recording(flagged_share(window), f"{flagged(window)}\n  / {_ON_APART}\n{runs(window)}")


def flagged_runs(window: str) -> str:
    """How many runs reached warn or above.

    A run that rose from warn to alert is counted at both levels, so the levels are not added: the
    larger one is the least number of runs there can be.
    """
    by_level = gained(
        names.FLAGGED_RUNS, window, by=(*BY_MODE, "severity"), matchers={"severity": _WARN_OR_ABOVE}
    )
    return total(names.FLAGGED_RUNS, by_level, BY_MODE, "max")


def _judge(window: str) -> Iterator[Recording]:
    decided = gained(
        names.JUDGE_VERDICTS, window, by=BY_MODE, matchers={"verdict": "!not_evaluated"}
    )
    found = gained(names.JUDGE_VERDICTS, window, by=BY_MODE, matchers={"verdict": "present"})
    yield Recording(judged(window), decided)
    yield Recording(present(window), found)
    yield Recording(present_share(window), f"{present(window)} / {judged(window)}")


def oldest_idle() -> str:
    """Seconds since the last event of the longest idle run, by framework."""
    by = (*APART, "framework")
    return total(names.RUN_OLDEST_IDLE, select(names.RUN_OLDEST_IDLE), by, "max")
