"""Judges the runs it is given, several at once, and prints the reports in their order."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from mastwatch.commands.in_order import in_order
from mastwatch.commands.judge_input import NotRead
from mastwatch.commands.judge_output import Output, Progress, say
from mastwatch.commands.judge_plan import Plan
from mastwatch.commands.show import coloured
from mastwatch.guard import report as report_error
from mastwatch.judge.assembly import calibrations_of, make_judge
from mastwatch.judge.judge import Judge
from mastwatch.judge.preflight import estimate
from mastwatch.judge.settings import JudgeSettings
from mastwatch.judge.unjudged import unjudged
from mastwatch.store import Limits, Report, Trace

if TYPE_CHECKING:
    from mastwatch.store.sqlite import SqliteStore

_HOPELESS = ("auth", "unreachable")
"""What no other run would fare better with: the rest is not even tried."""


def plan(
    given: Iterator[Trace | NotRead],
    how: JudgeSettings,
    limits: Limits,
    args: argparse.Namespace,
) -> int:
    """Print what judging would take; nobody is asked."""
    shown = Plan(sys.stdout, plain=args.json or not sys.stdout.isatty())
    runs = 0
    for trace in islice(_readable(given), args.limit):
        runs += 1
        shown.run(asyncio.run(estimate(trace, how)))
    shown.end(limits)
    return 0 if runs else 2


class Judging:
    """Judges runs.

    Args:
        how: The judge's settings.
        limits: What all runs together may cost.
        store: Keeps reports of its own runs, answers and daily limits; None for nothing.
        place: Where the store is, or would be: calibrations stand beside it.
        args: The command line.
    """

    def __init__(
        self,
        how: JudgeSettings,
        limits: Limits,
        store: SqliteStore | None,
        place: str,
        args: argparse.Namespace,
    ) -> None:
        self._how = how
        self._limits = limits
        self._store = store
        self._place = place
        self._limit = args.limit
        plain = args.json or not sys.stdout.isatty()
        self._output = Output(
            sys.stdout, plain=plain, folder=args.out, colour=not plain and coloured()
        )
        self._progress = Progress()
        self._hopeless = ""
        self._problem = ""
        self._done = self._unevaluated = 0

    def run(self, given: Iterator[Trace | NotRead]) -> int:
        """Judge them all; returns the exit status. What is finished is printed, come what may."""
        try:
            asyncio.run(self._all(islice(_readable(given), self._limit)))
        finally:
            self._progress.clear()
            self._output.end()
        if not self._done:
            return 2
        return 1 if self._unevaluated else 0

    async def _all(self, traces: Iterator[Trace]) -> None:
        calibrations = calibrations_of(self._place)
        judge = make_judge(None, self._how, self._store, calibrations, self._limits)
        try:
            await in_order(
                traces,
                lambda trace: self._judged(judge, trace),
                self._give,
                at_once=self._how.concurrency,
                tell=lambda under_way: self._progress.tell(self._done, under_way),
            )
        finally:
            await judge.close()

    async def _judged(self, judge: Judge, trace: Trace) -> Report:
        if self._hopeless:
            return unjudged(trace, judge.taxonomy, self._hopeless, problem=self._problem)
        try:
            report = await judge.judge(trace)
        except Exception as error:  # ours: the judge answers for what a model does
            report_error("judge.judge", error)
            return unjudged(trace, judge.taxonomy, "internal_error")
        reasons = {verdict.reason for verdict in report.verdicts.values()}
        if _unevaluated(report) and reasons & set(_HOPELESS) and not self._hopeless:
            self._hopeless = next(iter(reasons & set(_HOPELESS)))
            self._problem = next(iter(report.problems), "")
            self._progress.clear()
            say(f"{self._problem or self._hopeless}; the runs that follow are not tried")
        return report

    def _give(self, trace: Trace, report: Report) -> None:
        self._done += 1
        self._unevaluated += _unevaluated(report)
        self._progress.clear()
        if self._store is not None and not _unevaluated(report):
            self._keep(trace, report)
        known = self._store.attribution(trace.run_id) if self._store is not None else None
        self._output.report(trace, report, known)

    def _keep(self, trace: Trace, report: Report) -> None:
        """Keep the report with its run, if that is the store's."""
        assert self._store is not None
        if self._store.trace(trace.run_id) is not None:
            self._store.put(report)


def _unevaluated(report: Report) -> bool:
    return all(verdict.verdict == "not_evaluated" for verdict in report.verdicts.values())


def _readable(given: Iterator[Trace | NotRead]) -> Iterator[Trace]:
    for item in given:
        if isinstance(item, NotRead):
            say(item)
        else:
            yield item
