"""Keeps a fork and the use of a database apart."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Gate:
    """Any number of threads may be inside, or one may have it closed."""

    def __init__(self) -> None:
        self._changed = threading.Condition()  # protects the two below
        self._inside = 0
        self._closed = False

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Go in, once it is open; not from inside."""
        with self._changed:
            while self._closed:
                self._changed.wait()
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    def close(self, timeout: float) -> bool:
        """Let nobody in any more; returns whether all were out in time."""
        deadline = time.monotonic() + timeout
        with self._changed:
            self._closed = True
            while self._inside and (left := deadline - time.monotonic()) > 0:
                self._changed.wait(left)
            return not self._inside

    def open(self) -> None:
        """Let everybody in again."""
        with self._changed:
            self._closed = False
            self._changed.notify_all()
