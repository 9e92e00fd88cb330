"""Claims jobs, has them judged, gives the reports: many runs at once, in one event loop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
import uuid
from collections.abc import Callable, Sequence
from typing import TypeVar

from mastwatch.guard import guard
from mastwatch.judge.judge import Judge
from mastwatch.judge.unjudged import unjudged
from mastwatch.judge.worker.fate import MAX_LOST, Fate, fate
from mastwatch.judge.worker.lease import judged
from mastwatch.judge.worker.listener import Listener
from mastwatch.judge.worker.pool import DaemonPool
from mastwatch.judge.worker.trouble import Trouble
from mastwatch.store import Job, Report, Store, StoreError, Trace

LEASE_SECONDS = 120.0
"""A job comes back to the queue so long after its worker died."""
POLL_SECONDS = 2.0
"""Between two looks into the queue, when there was nothing to do."""
GRACE_SECONDS = 20.0
"""Runs under way may take so long to finish when the worker is stopped."""
_STORE_RETRY = 15.0
_THREADS = 4

_log = logging.getLogger("mastwatch")
_T = TypeVar("_T")


class Worker:
    """Judges the runs of a store.

    Each run ends with exactly one report, whoever dies meanwhile: a job is lent for a time, the
    report is given together with the end of the job, and only by who holds it.

    Args:
        store: Runs, jobs and reports.
        make_judge: Makes the judge, in the event loop that uses it.
        listeners: Told of each report.
        at_once: Runs judged at once.
        poll: See ``POLL_SECONDS``.
        lease: See ``LEASE_SECONDS``.
        clock: Unix seconds.

    Attributes:
        finished: Reports given.
        postponed: How often a run was put off.
    """

    def __init__(
        self,
        store: Store,
        make_judge: Callable[[], Judge],
        listeners: Sequence[Listener] = (),
        *,
        at_once: int = 4,
        poll: float = POLL_SECONDS,
        lease: float = LEASE_SECONDS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._make_judge = make_judge
        self._listeners = tuple(listeners)
        self._at_once = max(1, at_once)
        self._poll = poll
        self._lease = lease
        self._clock = clock
        self._owner = f"{os.getpid()}-{uuid.uuid4().hex[:12]}"
        self._trouble = Trouble()
        self._store_fails = False
        self._tasks: dict[asyncio.Task[None], Job] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped = False
        self._grace = GRACE_SECONDS
        self.finished = 0
        self.postponed = 0

    async def run(self, *, once: bool = False) -> None:
        """Work until ``stop`` is called, or with ``once`` until no job is due."""
        self._awake = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._loop.set_default_executor(DaemonPool(_THREADS + self._at_once))
        judge = self._make_judge()
        try:
            while not self._stopped:
                full = await self._claim(judge)
                if once and not full and not self._tasks:
                    break
                await self._rest()
        finally:
            await self._end()
            await judge.close()

    def stop(self, grace: float = GRACE_SECONDS) -> None:
        """Have ``run`` end; from any thread.

        Args:
            grace: Seconds that runs under way may take to finish; the others are handed back.
        """
        self._grace = grace
        self._stopped = True
        self.wake()

    def wake(self) -> None:
        """There is something to do; from any thread."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: it is over
                self._loop.call_soon_threadsafe(self._awake.set)

    # The queue.

    async def _claim(self, judge: Judge) -> bool:
        """Take jobs while there is room and any is due; returns whether there was no more room."""
        depth = await self._stored(self._depth)
        if depth is None:
            return False
        self._tell(lambda listener: listener.on_queue(depth))
        while depth and not self._stopped and not self._trouble.waits(self._clock()):
            if len(self._tasks) >= self._room():
                return True
            job = await self._stored(lambda: self._store.claim("judge", self._owner, self._lease))
            if job is None:
                break
            task = asyncio.create_task(self._work(judge, job))
            self._tasks[task] = job
            task.add_done_callback(self._tasks.pop)
        return False

    def _room(self) -> int:
        """How many runs may be under way together."""
        # After trouble one run goes ahead and tells whether the others may follow. One that a
        # worker died over goes alone: dying again, it takes no others along.
        alone = self._trouble.times or any(job.lost for job in self._tasks.values())
        return 1 if alone else self._at_once

    def _depth(self) -> int:
        queue = self._store.queue("judge")
        return queue["waiting"] + queue["running"]

    async def _rest(self) -> None:
        """Wait until a run is done, somebody calls, or it is time to look again."""
        waking = asyncio.ensure_future(self._awake.wait())
        wait = _STORE_RETRY if self._store_fails else self._poll
        await asyncio.wait(
            {waking, *self._tasks}, timeout=wait, return_when=asyncio.FIRST_COMPLETED
        )
        self._awake.clear()
        waking.cancel()

    async def _end(self) -> None:
        """Let runs under way finish, then hand back the jobs of those that did not."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=self._grace)
        left = list(self._tasks)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    # One run.

    async def _work(self, judge: Judge, job: Job) -> None:
        try:
            with guard("judge.worker"):
                await self._do(judge, job)
        except asyncio.CancelledError:
            await self._stored(lambda: self._store.postpone(job, 0.0, "stopped"))
            raise

    async def _do(self, judge: Judge, job: Job) -> None:
        # A run that was deleted meanwhile has no rows, and that is what its report says.
        trace = Trace(run_id=job.run_id)
        report: Report | None
        try:
            kept = await asyncio.to_thread(self._store.trace, job.run_id)
            trace = trace if kept is None else kept
            if job.lost >= MAX_LOST:
                report = unjudged(trace, judge.taxonomy, "worker_died", trigger=job.trigger)
            else:
                report = await judged(self._store, judge, job, trace, self._lease)
        except ValueError:  # it was written by a newer release, or is damaged
            report = unjudged(trace, judge.taxonomy, "unreadable", trigger=job.trigger)
        except StoreError as error:
            self._say_store_fails(error)
            return  # the job comes back when its loan is over
        if report is None:
            return
        found = fate(report, job.failed, self._trouble.times, self._clock())
        if found is None:
            await self._give(job, report, trace)
        else:
            await self._put_off(job, report, found)

    async def _give(self, job: Job, report: Report, trace: Trace) -> None:
        if not await self._stored(lambda: self._store.finish(job, report)):
            return
        self.finished += 1
        self._trouble.over()
        self._tell(lambda listener: listener.on_report(report, trace))

    async def _put_off(self, job: Job, report: Report, found: Fate) -> None:
        self.postponed += 1
        if found.pause:
            self._trouble.met(found, report, self._clock())
        self._tell(lambda listener: listener.on_put_off(report))
        await self._stored(
            lambda: self._store.postpone(job, found.seconds, found.reason, failed=not found.pause)
        )

    def _tell(self, say: Callable[[Listener], object]) -> None:
        for listener in self._listeners:
            with guard(f"judge.{listener.name}"):
                say(listener)

    # The store.

    async def _stored(self, call: Callable[[], _T]) -> _T | None:
        """Use the store in another thread; None when it cannot be used, which is said once."""
        try:
            result = await asyncio.to_thread(call)
        except StoreError as error:
            self._say_store_fails(error)
            return None
        self._store_fails = False
        return result

    def _say_store_fails(self, error: StoreError) -> None:
        if not self._store_fails:
            _log.warning("mastwatch: %s. The judge waits.", error)
        self._store_fails = True
