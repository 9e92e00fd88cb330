"""The host's own functions, called with each finding."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Awaitable, Callable
from concurrent import futures
from typing import TYPE_CHECKING

from mastwatch import forks
from mastwatch.findings import Finding
from mastwatch.guard import guard
from mastwatch.sink import Sink

if TYPE_CHECKING:
    import asyncio

MAX_PENDING = 256
"""Async callbacks that may be under way at once; beyond, a finding's is dropped and counted."""


class CallbackSink(Sink):
    """Calls the host's functions for each finding, in the thread where it fired.

    Each is guarded by itself. They own nothing: read the finding, keep it if you like. What a
    callback gives to be awaited runs on the loop of that thread, else on a loop of our own in the
    background; nobody waits for it.

    Args:
        report: Told of each call as ``("callback", mode, result)``.
    """

    name = "callback"

    def __init__(self, report: Callable[[str, str, str], None] = lambda *_: None) -> None:
        self._report = report
        self._callbacks: tuple[Callable[[Finding], object], ...] = ()
        self._lock = forks.lock()  # protects the swap of _callbacks, _loop and _pending
        self._start()
        forks.remake(self)

    def _start(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pending: set[asyncio.Task[None] | futures.Future[None]] = set()

    def add(self, callback: Callable[[Finding], object]) -> None:
        """Call ``callback(finding)`` from now on; it may be a coroutine function."""
        with self._lock:
            self._callbacks = (*self._callbacks, callback)

    def on_finding(self, finding: Finding) -> None:
        """Call them all."""
        for callback in self._callbacks:
            result = "failed"
            with guard("callback"):
                said = callback(finding)
                result = self._begin(said, finding) if inspect.isawaitable(said) else "done"
            if result:
                self._report("callback", finding.mode, result)

    def _begin(self, work: Awaitable[object], finding: Finding) -> str:
        """Have it awaited; says what became of it only where nobody will."""
        import asyncio

        with self._lock:
            full = len(self._pending) >= MAX_PENDING
        if full:
            if inspect.iscoroutine(work):
                work.close()
            return "dropped"
        job = self._awaited(work, finding)
        started: asyncio.Task[None] | futures.Future[None]
        try:
            started = asyncio.get_running_loop().create_task(job)
        except RuntimeError:
            started = asyncio.run_coroutine_threadsafe(job, self._background())
        with self._lock:
            self._pending.add(started)
        started.add_done_callback(self._over)
        return ""

    def _over(self, job: asyncio.Task[None] | futures.Future[None]) -> None:
        with self._lock:
            self._pending.discard(job)
        if not job.cancelled():
            job.exception()  # looked at, or asyncio complains of it

    async def _awaited(self, work: Awaitable[object], finding: Finding) -> None:
        result = "failed"
        try:
            with guard("callback"):
                await work
                result = "done"
        finally:
            self._report("callback", finding.mode, result)

    def _background(self) -> asyncio.AbstractEventLoop:
        import asyncio

        with self._lock:
            if self._loop is None:
                loop = asyncio.new_event_loop()
                threading.Thread(
                    target=loop.run_forever, name="mastwatch-callbacks", daemon=True
                ).start()
                self._loop = loop
            return self._loop

    def flush(self, timeout: float) -> bool:
        """Wait for what runs on the loop of our own.

        Args:
            timeout: Longest wait in seconds.

        Returns:
            Whether it is done; the host's loops are the host's to wait for.
        """
        with self._lock:
            ours = [job for job in self._pending if isinstance(job, futures.Future)]
        return not futures.wait(ours, timeout).not_done

    def close(self, timeout: float) -> None:
        """Flush, and end the loop of our own."""
        self.flush(timeout)
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None:
            loop.call_soon_threadsafe(loop.stop)

    def after_fork(self) -> None:
        """Begin anew: the thread of the loop is not here."""
        self._start()
