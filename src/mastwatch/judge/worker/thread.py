"""A worker inside the host: one daemon thread, from the first finished run on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from mastwatch import forks
from mastwatch.guard import guard
from mastwatch.judge.worker.worker import Worker
from mastwatch.spans.suppress import untraced

_GRACE_SHARE = 0.6  # of the time-out; the rest is for handing jobs back


class WorkerThread:
    """Runs a worker; what is not finished at the process's end stays in the store.

    Args:
        make_worker: Makes the worker, in the thread.
    """

    def __init__(self, make_worker: Callable[[], Worker]) -> None:
        self._make_worker = make_worker
        self._closed = False
        self._begin_anew()
        forks.remake(self)

    def _begin_anew(self) -> None:
        self._lock = threading.Lock()  # protects _thread
        self._thread: threading.Thread | None = None
        self._worker: Worker | None = None

    def wake(self) -> None:
        """A run has finished: start the thread, or have it look into the queue."""
        with self._lock:
            if self._closed:
                return
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(
                    target=self._run, name="mastwatch-judge", daemon=True
                )
                self._thread.start()
                return
        if self._worker is not None:
            self._worker.wake()

    def close(self, timeout: float) -> bool:
        """Stop; runs under way may finish for most of the time-out, the others are handed back.

        Args:
            timeout: Longest wait in seconds.

        Returns:
            Whether the thread has ended.
        """
        with self._lock:
            self._closed = True
            thread = self._thread
        if thread is None:
            return True
        if self._worker is not None:
            self._worker.stop(grace=_GRACE_SHARE * timeout)
        thread.join(timeout)
        return not thread.is_alive()

    def after_fork(self) -> None:
        """The thread and its jobs are the parent's."""
        self._begin_anew()

    def _run(self) -> None:
        # Nothing that happens in here is the user's doing: no span, no run, no judging of it.
        with guard("judge.thread"), untraced():
            self._worker = self._make_worker()
            asyncio.run(self._worker.run())
