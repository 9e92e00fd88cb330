"""The view in a terminal: a picture that is drawn over, or panels between the app's own lines."""

from __future__ import annotations

from typing import TextIO

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.layout import Layout
from rich.live import Live
from rich.panel import Panel
from rich.rule import Rule
from rich.text import Text

from mastwatch.events import RunFinished, RunStarted
from mastwatch.findings import Finding, Severity
from mastwatch.live import panels
from mastwatch.live.board import Board, Episode, Item, RunRow, clean
from mastwatch.live.plain import ended
from mastwatch.live.summary import summary

WIDE = 100
"""Columns from which transcript and findings stand side by side."""
MAX_HEIGHT = 36


class _Console(Console):
    """A console whose reader may go away without ending the app, as rich would."""

    def on_broken_pipe(self) -> None:
        self.quiet = True


class ScreenPainter:
    """Draws one picture over and over; what the app writes to stderr appears above it."""

    def __init__(self, stream: TextIO, console: Console | None = None) -> None:
        self.console = console or _Console(file=stream)
        self._live: Live | None = None

    def announce(self, board: Board) -> None:
        """Put the heading up."""
        self.show(board, [])

    def show(self, board: Board, fresh: list[Item]) -> None:
        """Draw the board as it is now."""
        if self._live is None:
            # Not the alternate screen: it would swallow what the app writes to stderr. stdout is
            # left alone, whoever reads it gets the app's bytes.
            self._live = Live(
                console=self.console, auto_refresh=False, transient=True, redirect_stdout=False
            )
            self._live.start()
            self.console.show_cursor(True)  # a killed app must not leave a terminal without one
        self._live.update(picture(board, self.console), refresh=True)

    def close(self, board: Board, metrics_url: str | None) -> None:
        """Take the picture away and write the summary."""
        if self._live is not None:
            self._live.stop()
        self.console.print(summary(board, metrics_url, self.console.width < WIDE))


class InlinePainter:
    """Writes panels between the lines of an app that uses the same terminal."""

    def __init__(self, stream: TextIO, console: Console | None = None) -> None:
        self.console = console or _Console(file=stream)

    def announce(self, board: Board) -> None:
        """Write a heading."""
        self.console.print(Rule(Text(board.title, style="bold"), style=panels.FRAME))
        if board.subtitle:
            self.console.print(Text(board.subtitle, style="grey70"))

    def show(self, board: Board, fresh: list[Item]) -> None:
        """Write what is new: runs and findings; the messages are the app's own business."""
        for item in fresh:
            run = board.runs.get(item.run_id) or RunRow(item.run_id)
            block = _block(item, run)
            if block is not None:
                self.console.print(block)

    def close(self, board: Board, metrics_url: str | None) -> None:
        """Write the summary."""
        self.console.print(summary(board, metrics_url, self.console.width < WIDE))


def _block(item: Item, run: RunRow) -> RenderableType | None:
    if isinstance(item, Finding):
        return Panel(
            panels.finding_block(Episode(item, item.message_index), run, tail=False),
            title=Text(f"mastwatch run {run.short}", style="grey70"),
            title_align="left",
            border_style=panels.MARKS.get(item.severity, panels.MARKS[Severity.INFO]),
        )
    if isinstance(item, RunStarted) and not item.branch:
        name = clean(item.name, 60) or "run"
        return Text(f"mastwatch run {run.short} started: {name} ({item.framework})", style="grey62")
    if isinstance(item, RunFinished) and not item.branch:
        return Text(f"mastwatch run {run.short} {ended(run)}", style="grey62")
    return None


def picture(board: Board, console: Console) -> RenderableType:
    """Lay the panels out for the terminal's size."""
    width, height = console.width, min(console.height - 1, MAX_HEIGHT)
    narrow, shown = width < WIDE, board.shown()
    top = 2 + 2 * bool(board.title) + max(1, min(len(shown), 2)) + (len(shown) > 2)
    top += narrow and bool(shown)
    body = max(height - top, 6)
    root, main = Layout(), Layout(name="main")
    root.split_column(Layout(panels.header(board, narrow), size=top), main)
    if narrow:
        open_now = sum(len(run.episodes) for run in shown)
        share = min(3 + 4 * open_now, max(body // 2, 4))
        upper = panels.transcript(board, body - share, width, console, narrow)
        main.split_column(Layout(upper, size=body - share), Layout(panels.findings(board)))
    else:
        left = width * 3 // 5
        people = max(3, min(sum(len(run.agents) for run in shown), body // 2 - 3))
        side = Layout(name="side")
        side.split_column(
            Layout(panels.findings(board)), Layout(panels.agents(board, people), size=people + 3)
        )
        main.split_row(
            Layout(panels.transcript(board, body, left, console, narrow), size=left), side
        )
    return _Sized(root, height)


class _Sized:
    """A renderable of a fixed height; a bare Layout takes the whole terminal."""

    def __init__(self, inner: Layout, height: int) -> None:
        self.inner = inner
        self.height = height

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from console.render(self.inner, options.update(height=self.height))
