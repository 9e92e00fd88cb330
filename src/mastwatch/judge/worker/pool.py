"""Threads for the event loop's blocking work that never hold up the process's exit."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, TypeAlias

_Task: TypeAlias = tuple[Future[Any], Callable[..., Any], tuple[Any, ...], dict[str, Any]]


class DaemonPool(ThreadPoolExecutor):
    """As its base class, with daemon threads.

    The interpreter waits at its end for the threads of a ``ThreadPoolExecutor``, whatever they do:
    a model that hangs in a callable of the user's would keep the host from exiting. (asyncio takes
    subclasses of ``ThreadPoolExecutor`` only as its default executor.)

    Args:
        threads: At most so many.
    """

    def __init__(self, threads: int) -> None:
        super().__init__(max_workers=threads)
        self._most = threads
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        self._lock = threading.Lock()  # protects the two counts
        self._started = 0
        self._unclaimed = 0  # tasks given, less threads that wait for one

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Do it in a thread, soon."""
        future: Future[Any] = Future()
        with self._lock:
            self._unclaimed += 1
            start = self._unclaimed > 0 and self._started < self._most
            self._started += start
        self._tasks.put((future, fn, args, kwargs))
        if start:
            threading.Thread(target=self._run, name="mastwatch-judge-io", daemon=True).start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Have the threads end when they are done with their tasks; never waits."""
        for _ in range(self._started):
            self._tasks.put(None)

    def _run(self) -> None:
        while True:
            with self._lock:
                self._unclaimed -= 1
            task = self._tasks.get()
            if task is None:
                return
            future, fn, args, kwargs = task
            if not future.set_running_or_notify_cancel():
                continue
            try:
                result = fn(*args, **kwargs)
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)
