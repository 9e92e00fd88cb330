"""Claims jobs, has them done, gives the results: many runs at once, in one event loop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeVar

from mastwatch.guard import guard
from mastwatch.judge.worker.duty import Duty, Result
from mastwatch.judge.worker.fate import MAX_LOST, Fate, fate
from mastwatch.judge.worker.late import follow_late
from mastwatch.judge.worker.lease import done
from mastwatch.judge.worker.listener import Listener
from mastwatch.judge.worker.pool import DaemonPool
from mastwatch.judge.worker.trouble import Trouble
from mastwatch.store import Job, Store, StoreError, Trace

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
    """Judges and attributes the runs of a store.

    Each job ends with exactly one result, whoever dies meanwhile: it is lent for a time, the result
    is given together with its end, and only by who holds it.

    Args:
        store: Runs, jobs and results.
        make_duties: Makes what there is to do, in the event loop that does it; of two jobs that
            are due that of the first one is done first.
        listeners: Told of each result.
        at_once: Runs worked on at once.
        poll: See ``POLL_SECONDS``.
        lease: See ``LEASE_SECONDS``.
        clock: Unix seconds.

    Attributes:
        finished: Results given, by kind of job.
        postponed: How often a run was put off.
    """

    def __init__(
        self,
        store: Store,
        make_duties: Callable[[], Sequence[Duty]],
        listeners: Sequence[Listener] = (),
        *,
        at_once: int = 4,
        poll: float = POLL_SECONDS,
        lease: float = LEASE_SECONDS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._make_duties = make_duties
        self._duties: dict[str, Duty] = {}
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
        self.finished: Counter[str] = Counter()
        self.postponed = 0

    async def run(self, *, once: bool = False) -> None:
        """Work until ``stop`` is called, or with ``once`` until no job is due."""
        self._awake = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._loop.set_default_executor(DaemonPool(_THREADS + self._at_once))
        self._duties = {duty.kind: duty for duty in self._make_duties()}
        try:
            while not self._stopped:
                full = await self._claim()
                if once and not full and not self._tasks:
                    break
                await self._rest()
        finally:
            await self._end()
            for duty in self._duties.values():
                await duty.close()

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

    async def _claim(self) -> bool:
        """Take jobs while there is room and any is due; returns whether there was no more room."""
        depth = await self._stored(self._depth)
        if depth is None:
            return False
        self._tell(lambda listener: listener.on_queue(depth))
        while depth and not self._stopped and not self._trouble.waits(self._clock()):
            if len(self._tasks) >= self._room():
                return True
            job = await self._stored(self._borrow)
            if job is None:
                break
            task = asyncio.create_task(self._work(job))
            self._tasks[task] = job
            task.add_done_callback(self._tasks.pop)
        return False

    def _room(self) -> int:
        """How many runs may be under way together."""
        # After trouble one run goes ahead and tells whether the others may follow. One that a
        # worker died over goes alone: dying again, it takes no others along.
        alone = self._trouble.times or any(job.lost for job in self._tasks.values())
        return 1 if alone else self._at_once

    def _borrow(self) -> Job | None:
        for duty in self._duties.values():
            job = self._store.claim(duty.kind, self._owner, self._lease)
            if job is not None:
                return job
        return None

    def _depth(self) -> int:
        queues = [self._store.queue(duty.kind) for duty in self._duties.values()]
        return sum(queue["waiting"] + queue["running"] for queue in queues)

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

    async def _work(self, job: Job) -> None:
        try:
            with guard("judge.worker"):
                await self._do(self._duties[job.kind], job)
        except asyncio.CancelledError:
            await self._stored(lambda: self._store.postpone(job, 0.0, "stopped"))
            raise

    async def _do(self, duty: Duty, job: Job) -> None:
        # A run that was deleted meanwhile has no rows, and that is what its result says.
        trace = Trace(run_id=job.run_id)
        result: Result | None
        try:
            kept = await asyncio.to_thread(self._store.trace, job.run_id)
            trace = trace if kept is None else kept
            if job.lost >= MAX_LOST:
                result = duty.undone(job, trace, "worker_died")
            else:
                result = await done(self._store, duty, job, trace, self._lease)
        except ValueError:  # it was written by a newer release, or is damaged
            result = duty.undone(job, trace, "unreadable")
        except StoreError as error:
            self._say_store_fails(error)
            return  # the job comes back when its loan is over
        if result is None:
            return
        found = fate(result, job.failed, self._trouble.times, self._clock())
        if found is None:
            await self._give(duty, job, result, trace)
        else:
            await self._put_off(job, result, found)

    async def _give(self, duty: Duty, job: Job, result: Result, trace: Trace) -> None:
        following = duty.then(result, trace)
        if not await self._stored(lambda: self._store.finish(job, result, then=following)):
            return
        if following is None:
            await self._stored(lambda: follow_late(self._store, duty, job, result))
        self.finished[job.kind] += 1
        self._trouble.over()
        self._tell(lambda listener: duty.tell(listener, result, trace))

    async def _put_off(self, job: Job, result: Result, found: Fate) -> None:
        self.postponed += 1
        if found.pause:
            self._trouble.met(found, result, self._clock())
        self._tell(lambda listener: listener.on_put_off(result))
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
