"""The live view of any app: agents, messages, and findings as they fire, in the terminal.

    handle = mastwatch.instrument()
    with live.start(handle):
        my_app()

It is a sink like the metrics and the log. Three faces: a picture that is drawn over where the
terminal is free, panels between the app's lines where the app prints to the same terminal, plain
lines where there is no terminal. The app never waits for it: sinks append to a bounded queue, a
thread of ours draws.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import sys
import threading
from collections import deque
from types import TracebackType
from typing import Protocol, TextIO

from mastwatch.events import Event, RunFinished, RunStarted
from mastwatch.findings import Finding, Notice
from mastwatch.guard import guard
from mastwatch.live.board import Board, Item
from mastwatch.live.logs import Quiet
from mastwatch.live.plain import PlainPainter
from mastwatch.watch import Sink

__all__ = ["View", "start"]

MAX_QUEUE = 4_096
"""Events that wait to be drawn; beyond, messages are skipped. Runs and findings get twice that."""
INTERVAL = 0.1
"""Seconds between two drawings."""
STOP_TIMEOUT = 2.0
"""Seconds that ``stop`` waits for a terminal that takes no output."""


class Painter(Protocol):
    """One face of the view; called from one thread at a time."""

    def announce(self, board: Board) -> None:
        """Say what comes next (``View.announce``)."""

    def show(self, board: Board, fresh: list[Item]) -> None:
        """Draw; ``fresh`` is what came since the last time."""

    def close(self, board: Board, metrics_url: str | None) -> None:
        """Leave the terminal in order and write the summary."""


class Watched(Protocol):
    """What the view needs of a handle."""

    @property
    def metrics_url(self) -> str | None:
        """Where ``/metrics`` is served, or None."""

    def add_sink(self, sink: Sink) -> None:
        """Tell it of everything from now on."""

    def remove_sink(self, sink: Sink) -> None:
        """Stop telling it."""


class View(Sink):
    """A live view under way; also a context manager. Make one with ``start``."""

    name = "live"

    def __init__(self, painter: Painter, board: Board | None = None) -> None:
        self.board = board or Board()
        self._painter = painter
        self._handle: Watched | None = None
        self._queue: deque[tuple[Item, str]] = deque(maxlen=2 * MAX_QUEUE)
        self._skipped = 0
        self._quiet = Quiet()
        self._stopping = threading.Event()
        self._lock = threading.Lock()  # protects board and painter: the thread, announce, stop
        self._stopped = False
        self._process = os.getpid()
        self._thread = threading.Thread(target=self._loop, name="mastwatch-live", daemon=True)

    def on_event(self, event: Event, framework: str) -> None:
        """Queue an event; where drawing lags behind, only runs' starts and ends get in."""
        if len(self._queue) < MAX_QUEUE or isinstance(event, RunStarted | RunFinished):
            self._queue.append((event, framework))
        else:
            self._skipped += 1

    def on_finding(self, finding: Finding) -> None:
        """Queue a finding."""
        self._queue.append((finding, finding.framework))

    def on_notice(self, notice: Notice) -> None:
        """Queue a notice."""
        self._queue.append((notice, notice.framework))

    def announce(self, title: str, subtitle: str = "") -> None:
        """Head what comes next, a chapter of a demo for example."""
        self.refresh()
        with self._lock, guard("live"):
            self.board.head(title, subtitle)
            self._painter.announce(self.board)

    def refresh(self) -> None:
        """Draw what is queued, now."""
        with self._lock, guard("live"):
            fresh = self._drain()
            self._painter.show(self.board, fresh)

    def begin(self, handle: Watched) -> None:
        """Attach to a handle and draw from now on."""
        self._handle = handle
        handle.add_sink(self)
        self._quiet.attach()
        atexit.register(self.stop)
        self._thread.start()

    def stop(self) -> None:
        """Detach, draw what is left and write the summary; once."""
        if self._stopped or os.getpid() != self._process:  # a fork's exit is not the app's
            return
        self._stopped = True
        atexit.unregister(self.stop)
        with guard("live"):
            if self._handle is not None:
                self._handle.remove_sink(self)
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(STOP_TIMEOUT)
        if not self._lock.acquire(timeout=STOP_TIMEOUT):
            return  # the terminal is stuck: there is nobody to read a summary
        try:
            with guard("live"):
                self._painter.show(self.board, self._drain())
                self.board.remarks = self._quiet.detach()
                self._painter.close(self.board, self._metrics_url())
        finally:
            self._lock.release()

    def __enter__(self) -> View:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def _loop(self) -> None:
        while not self._stopping.wait(INTERVAL):
            self.refresh()

    def _drain(self) -> list[Item]:
        fresh: list[Item] = []
        for _ in range(len(self._queue)):  # what comes meanwhile waits for the next drawing
            item, framework = self._queue.popleft()
            self.board.apply(item, framework)
            fresh.append(item)
        self.board.skipped += self._skipped
        self._skipped = 0
        return fresh

    def _metrics_url(self) -> str | None:
        return None if self._handle is None else self._handle.metrics_url


def start(
    handle: Watched,
    *,
    stream: TextIO | None = None,
    plain: bool | None = None,
    screen: bool | None = None,
) -> View:
    """Show live what ``handle`` watches, until the view's ``stop``.

    Args:
        handle: What ``mastwatch.instrument()`` returned.
        stream: Where to; stderr by default.
        plain: Lines without colour or message text; by default where ``stream`` is no terminal.
        screen: Draw over the terminal; by default where the app's stdout goes elsewhere, since two
            who write to one terminal garble each other.
    """
    view = View(_painter(stream or sys.stderr, plain, screen))
    view.begin(handle)
    return view


def _painter(stream: TextIO, plain: bool | None, screen: bool | None) -> Painter:
    if plain is None:
        plain = not stream.isatty()
    if plain:
        return PlainPainter(stream)
    if importlib.util.find_spec("rich") is None:
        stream.write("mastwatch: for the live view in colour: pip install 'mastwatch[live]'\n")
        return PlainPainter(stream)
    from mastwatch.live.screen import InlinePainter, ScreenPainter

    if screen is None:
        screen = not sys.stdout.isatty()
    if screen and os.environ.get("TERM", "dumb") not in ("dumb", "unknown"):
        return ScreenPainter(stream)
    return InlinePainter(stream)
