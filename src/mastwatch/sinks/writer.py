"""Work that is done behind the host's back: one thread, a bounded queue, remade after a fork."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable

from mastwatch import forks
from mastwatch.guard import guard
from mastwatch.store import StoreError

MAX_TASKS = 1_024
MAX_BYTES = 64 * 2**20
"""What may wait; beyond it is lost, and counted."""

_log = logging.getLogger("mastwatch")


class Writer:
    """Does tasks in the order they were given, in a thread that starts with the first one.

    A store that cannot be used costs the task: it is counted, and logged once until one succeeds.

    Args:
        on_lost: Told of each task lost: ``store_queue_full``, ``store_failed``.
        max_tasks: Tasks that may wait.
        max_bytes: Bytes that they may hold on to.
    """

    def __init__(
        self,
        on_lost: Callable[[str], None],
        max_tasks: int = MAX_TASKS,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._on_lost = on_lost
        self._max_tasks = max_tasks
        self._max_bytes = max_bytes
        self._failing = False
        self._start()
        forks.remake(self)

    def _start(self) -> None:
        self._changed = threading.Condition()  # protects everything below
        self._tasks: deque[tuple[Callable[[], None], int]] = deque()
        self._bytes = 0
        self._busy = False
        self._closed = False
        self._thread: threading.Thread | None = None

    def put(self, task: Callable[[], None], size: int = 0) -> None:
        """Have a task done soon; never waits.

        Args:
            task: What to do.
            size: Bytes it holds on to.
        """
        with self._changed:
            full = len(self._tasks) >= self._max_tasks or self._bytes + size > self._max_bytes
            if not full and not self._closed:
                self._tasks.append((task, size))
                self._bytes += size
                if self._thread is None:
                    self._thread = threading.Thread(
                        target=self._run, name="mastwatch-store", daemon=True
                    )
                    self._thread.start()
                self._changed.notify_all()
                return
        self._on_lost("store_queue_full")

    def flush(self, timeout: float) -> bool:
        """Wait until everything is done.

        Args:
            timeout: Longest wait in seconds.

        Returns:
            Whether it is.
        """
        deadline = time.monotonic() + timeout
        with self._changed:
            while self._tasks or self._busy:
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                self._changed.wait(left)
        return True

    def close(self, timeout: float) -> bool:
        """Flush, and take no more tasks; the thread ends."""
        done = self.flush(timeout)
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            thread = self._thread
        if done and thread is not None and thread is not threading.current_thread():
            thread.join(timeout)
        return done

    def after_fork(self) -> None:
        """Begin anew: what waits is the parent's to do, and its thread is not here."""
        self._start()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._tasks and not self._closed:
                    self._changed.wait()
                if not self._tasks:
                    return
                task, size = self._tasks.popleft()
                self._busy = True
            try:
                self._do(task)
            finally:
                with self._changed:
                    self._bytes -= size
                    self._busy = False
                    self._changed.notify_all()

    def _do(self, task: Callable[[], None]) -> None:
        with guard("store"):
            try:
                task()
            except StoreError as error:
                self._on_lost("store_failed")
                if not self._failing:
                    _log.warning("mastwatch: %s. Runs are lost; each is counted.", error)
                self._failing = True
            else:
                self._failing = False
