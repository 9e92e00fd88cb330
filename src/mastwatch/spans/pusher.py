"""Something done every so often in a thread, and at once when asked."""

from __future__ import annotations

import threading
from collections.abc import Callable

from mastwatch.guard import guard


class Pusher:
    """Calls ``push()`` at an interval.

    The thread exists beforehand because at the end of a process none can be started.

    Args:
        push: What to do; one call at a time.
        interval: Seconds between calls.
    """

    def __init__(self, push: Callable[[], object], interval: float) -> None:
        self._push = push
        self._interval = interval
        self._changed = threading.Condition()  # protects everything below
        self._asked = self._done = 0
        self._closed = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin; harmless when begun."""
        with self._changed:
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(
                    target=self._run, name="mastwatch-push", daemon=True
                )
                self._thread.start()

    def flush(self, timeout: float) -> bool:
        """Push now; returns whether it was done in time."""
        with self._changed:
            if self._thread is None:  # nothing has happened here yet
                return True
            self._asked += 1
            asked = self._asked
            self._changed.notify_all()
            return self._changed.wait_for(lambda: self._done >= asked, timeout)

    def close(self, timeout: float) -> bool:
        """Push a last time, and stop; returns whether it was done in time."""
        done = self.flush(timeout)
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        return done

    def join(self, timeout: float) -> None:
        """Wait for the end of a push that ``close()`` had no more time for."""
        if self._thread is not None:
            self._thread.join(timeout)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(
                    lambda: self._closed or self._asked > self._done, self._interval
                )
                if self._closed:
                    return
                asked = self._asked
            with guard("export.metrics"):
                self._push()
            with self._changed:
                self._done = asked
                self._changed.notify_all()
