"""Measures a judge on runs of which the truth is known: runs it, and resumes.

>>> from mastwatch.evaluation.hosts import hosts
>>> from mastwatch.evaluation.judge_cases import cases
>>> few = cases(hosts("en"), [], per_mode=1, clean=1)
>>> len(few)
15
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mastwatch.evaluation.injections import INJECTIONS, Injection, talked_to
from mastwatch.evaluation.judge_cases import JudgedCase
from mastwatch.evaluation.kept import append, begin
from mastwatch.judge.judge import Judge
from mastwatch.store import Report
from mastwatch.store.codec import report_as_dict, report_from_json

FLIP_CASES = 3
"""Runs into each of which every planted text is put."""
Key = tuple[str, int]
"""A run's id, and which time it is judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be judged.

    Attributes:
        cases: Runs with their truth.
        talking: Runs that talk to their judge, each with the case it was made of.
        repeats: How often each case is judged; from 2 on the judge is compared with itself.
    """

    cases: Sequence[JudgedCase]
    talking: Sequence[tuple[JudgedCase, JudgedCase]] = ()
    repeats: int = 1

    @property
    def todo(self) -> list[tuple[Key, JudgedCase]]:
        """Every judgement, in order."""
        times = range(self.repeats)
        each = [((case.trace.run_id, n), case) for n in times for case in self.cases]
        return each + [((case.trace.run_id, 0), case) for _, case in self.talking]


def plan(
    cases: Sequence[JudgedCase],
    *,
    repeats: int = 1,
    flip_cases: int = FLIP_CASES,
    injections: Sequence[Injection] = INJECTIONS,
) -> Plan:
    """Plan the judgements; texts are put into runs with a fault, of as many modes as possible."""
    by_mode = {case.mode: case for case in reversed(cases) if case.mode}
    step = max(1, len(by_mode) // max(1, flip_cases))
    chosen = [by_mode[mode] for mode in sorted(by_mode)][::step][:flip_cases]
    talking = [(case, talked_to(case, i)) for case in chosen for i in injections]
    return Plan(cases=cases, talking=talking, repeats=repeats)


@dataclass(slots=True)
class Kept:
    """Reports, and the file that holds them so that an interrupted evaluation can go on.

    Attributes:
        reports: By run and time.
        path: Where they are appended; None for nowhere.
    """

    reports: dict[Key, Report] = field(default_factory=dict)
    path: Path | None = None

    @classmethod
    def load(cls, path: Path | None, judge: str = "") -> Kept:
        """Read what is there.

        A line that was cut off by an interruption, and a run that no verdict was reached on, are
        judged again.

        Args:
            path: The file; it is begun where there is none.
            judge: Whose reports they are.

        Raises:
            ValueError: It holds the reports of another judge.
            OSError: It cannot be read or begun.
        """
        kept = cls(path=path)
        for value in begin(path, {"judge": judge}) if path is not None else ():
            try:
                report = report_from_json(json.dumps(value["report"]))
                key = (report.run_id, int(value["time"]))
            except (ValueError, KeyError, TypeError):
                continue
            if any(v.verdict != "not_evaluated" for v in report.verdicts.values()):
                kept.reports[key] = report
        return kept

    def add(self, key: Key, report: Report) -> None:
        """Take in a report."""
        self.reports[key] = report
        if self.path is not None:
            append(self.path, {"time": key[1], "report": report_as_dict(report)})


class Hopeless(Exception):
    """No run can be judged; the message says why."""


def _check_hope(report: Report) -> None:
    reasons = {verdict.reason for verdict in report.verdicts.values()}
    if reasons and reasons <= {"auth", "unreachable"}:
        raise Hopeless(next(iter(report.problems), ", ".join(reasons)))


async def judge_all(
    what: Plan,
    judge_for: Callable[[JudgedCase, int], Judge],
    kept: Kept,
    *,
    at_once: int = 4,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> None:
    """Judge what is not judged yet.

    Args:
        what: What is to be judged.
        judge_for: The judge of a case, the n-th time; a live model's is always the same.
        kept: Takes the reports; those it holds are not made again.
        at_once: Runs judged at a time.
        tell: Called with judgements done and all of them.

    Raises:
        Hopeless: The server cannot be reached or refuses us; nothing else is tried.
    """
    todo = what.todo
    left = iter([(key, case) for key, case in todo if key not in kept.reports])
    done = sum(key in kept.reports for key, _ in todo)

    async def work() -> None:
        nonlocal done
        for key, case in left:
            report = await judge_for(case, key[1]).judge(case.trace)
            _check_hope(report)
            kept.add(key, report)
            done += 1
            tell(done, len(todo))

    await asyncio.gather(*(work() for _ in range(max(1, at_once))))
