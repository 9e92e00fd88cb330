"""Attributes the runs it is given, several at once, and prints what was found in their order."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from mastwatch.attribution import Attributor
from mastwatch.commands.attribute_output import Output, say
from mastwatch.commands.judge_input import NotRead
from mastwatch.commands.show import coloured
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
        self._waiting: deque[tuple[Trace, Report | None, asyncio.Task[Attribution]]] = deque()
        self._hopeless = ""
        self._done = self._unevaluated = 0

    def run(self, given: Iterator[Trace | NotRead]) -> int:
        """Attribute them all; returns the exit status."""
        try:
            asyncio.run(self._all(islice(_readable(given), self._limit)))
        finally:
            self._output.end()
        if not self._done:
            return 2
        return 1 if self._unevaluated else 0

    async def _all(self, traces: Iterator[Trace]) -> None:
        client = clients.make(None, self._how)
        access = ModelAccess(client, self._how, self._store, self._limits)
        attributor = Attributor(access, self._how.attribution)
        try:
            while (trace := await asyncio.to_thread(next, traces, None)) is not None:
                report = self._store.report(trace.run_id) if self._store is not None else None
                task = asyncio.create_task(self._attributed(attributor, trace, report))
                self._waiting.append((trace, report, task))
                while len(self._waiting) >= self._how.concurrency:
                    await self._next()
            while self._waiting:
                await self._next()
        finally:
            for trace, report, task in self._waiting:
                if task.done() and not task.cancelled() and task.exception() is None:
                    self._give(trace, report, task.result())
            await access.close()

    async def _attributed(
        self, attributor: Attributor, trace: Trace, report: Report | None
    ) -> Attribution:
        if self._hopeless:
            method = attributor.settings.method
            return Attribution(
                run_id=trace.run_id, method=method, result="not_evaluated", reason=self._hopeless
            )
        found = await attributor.attribute(trace, report)
        if found.result == "not_evaluated" and found.reason in _HOPELESS and not self._hopeless:
            self._hopeless = found.reason
            why = next(iter(found.problems), found.reason)
            say(f"{why}; the runs that follow are not tried")
        return found

    async def _next(self) -> None:
        trace, report, task = self._waiting[0]
        found = await task
        self._waiting.popleft()
        self._give(trace, report, found)

    def _give(self, trace: Trace, report: Report | None, found: Attribution) -> None:
        self._done += 1
        done = found.result != "not_evaluated"
        self._unevaluated += not done
        if self._store is not None and done and self._store.trace(trace.run_id) is not None:
            self._store.put(found)
        self._output.attribution(trace, report, found)


def _readable(given: Iterator[Trace | NotRead]) -> Iterator[Trace]:
    for item in given:
        if isinstance(item, NotRead):
            say(item)
        else:
            yield item
