"""What the host wants done on a finding: callbacks."""

from __future__ import annotations

import threading
from collections.abc import Callable

from mastwatch.findings import Finding
from mastwatch.guard import guard
from mastwatch.watch import Sink


class CallbackSink(Sink):
    """Calls the host's functions for each finding, in the thread where it fired.

    Each is guarded by itself. They own nothing: read the finding, keep it if you like.
    """

    name = "callback"

    def __init__(self) -> None:
        self._callbacks: tuple[Callable[[Finding], object], ...] = ()
        self._lock = threading.Lock()  # protects the swap of _callbacks

    def add(self, callback: Callable[[Finding], object]) -> None:
        """Call ``callback(finding)`` from now on."""
        with self._lock:
            self._callbacks = (*self._callbacks, callback)

    def on_finding(self, finding: Finding) -> None:
        """Call them all."""
        for callback in self._callbacks:
            with guard("callback"):
                callback(finding)
