"""Attributes the runs it is given, several at once, and prints what was found in their order."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from mastwatch.attribution import Attributor
from mastwatch.commands.attribute_output import Output, say
from mastwatch.commands.in_order import in_order
from mastwatch.commands.judge_input import NotRead
from mastwatch.commands.judge_output import Progress
from mastwatch.commands.show import coloured
from mastwatch.guard import report as report_error
from mastwatch.judge import clients
from mastwatch.judge.access import ModelAccess
from mastwatch.judge.settings import JudgeSettings
from mastwatch.store import Attribution, Limits, Report, Trace

if TYPE_CHECKING:
    from mastwatch.store.sqlite import SqliteStore

_HOPELESS = ("auth", "unreachable")
"""What no other run would fare better with: the rest is not even tried."""


class Attributing:
    """Attributes runs.

    Args:
        how: Settings of the model and of attribution.
        limits: What all runs together may cost.
        store: Keeps attributions of its own runs, answers and daily limits; None for nothing.
        args: The command line.
    """

    def __init__(
        self,
        how: JudgeSettings,
        limits: Limits,
        store: SqliteStore | None,
        args: argparse.Namespace,
    ) -> None:
        self._how = how
        self._limits = limits
        self._store = store
        self._limit = args.limit
        plain = args.json or not sys.stdout.isatty()
        self._output = Output(
            sys.stdout, plain=plain, folder=args.out, colour=not plain and coloured()
        )
        self._progress = Progress("attributed")
        self._hopeless = ""
        self._done = self._unevaluated = 0

    def run(self, given: Iterator[Trace | NotRead]) -> int:
        """Attribute them all; returns the exit status."""
        try:
            asyncio.run(self._all(islice(_readable(given), self._limit)))
        finally:
            self._progress.clear()
            self._output.end()
        if not self._done:
            return 2
        return 1 if self._unevaluated else 0

    async def _all(self, traces: Iterator[Trace]) -> None:
        client = clients.make(None, self._how)
        access = ModelAccess(client, self._how, self._store, self._limits)
        attributor = Attributor(access, self._how.attribution)
        try:
            await in_order(
                traces,
                lambda trace: self._attributed(attributor, trace),
                self._give,
                at_once=self._how.concurrency,
                tell=lambda under_way: self._progress.tell(self._done, under_way),
            )
        finally:
            await access.close()

    async def _attributed(self, attributor: Attributor, trace: Trace) -> Attribution:
        def undone(reason: str) -> Attribution:
            method = attributor.settings.method
            return Attribution(
                run_id=trace.run_id, method=method, result="not_evaluated", reason=reason
            )

        if self._hopeless:
            return undone(self._hopeless)
        try:
            found = await attributor.attribute(trace, self._report(trace))
        except Exception as error:  # ours: the attributor answers for what a model does
            report_error("attribution.attribute", error)
            return undone("internal_error")
        if found.result == "not_evaluated" and found.reason in _HOPELESS and not self._hopeless:
            self._hopeless = found.reason
            why = next(iter(found.problems), found.reason)
            self._progress.clear()
            say(f"{why}; the runs that follow are not tried")
        return found

    def _report(self, trace: Trace) -> Report | None:
        return self._store.report(trace.run_id) if self._store is not None else None

    def _give(self, trace: Trace, found: Attribution) -> None:
        self._done += 1
        self._unevaluated += found.result == "not_evaluated"
        self._progress.clear()
        # Of a run that succeeded nothing is kept: its host may yet say otherwise.
        if found.result != "not_evaluated" and found.reason != "succeeded":
            self._keep(trace, found)
        self._output.attribution(trace, self._report(trace), found)

    def _keep(self, trace: Trace, found: Attribution) -> None:
        """Keep the attribution with its run, if that is the store's."""
        if self._store is not None and self._store.trace(trace.run_id) is not None:
            self._store.put(found)


def _readable(given: Iterator[Trace | NotRead]) -> Iterator[Trace]:
    for item in given:
        if isinstance(item, NotRead):
            say(item)
        else:
            yield item
