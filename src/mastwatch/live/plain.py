"""The view without a terminal: one line per run and finding, and never a message's text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from mastwatch import taxonomy
from mastwatch.events import RunFinished, RunStarted
from mastwatch.findings import Finding, Notice
from mastwatch.live.board import Board, Episode, Item, RunRow, clean


class PlainPainter:
    """Writes lines to a stream, such as a log."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def announce(self, board: Board) -> None:
        """Say what comes next."""
        self._write(f"{board.title}: {board.subtitle}" if board.subtitle else board.title)

    def show(self, board: Board, fresh: list[Item]) -> None:
        """Write what is new."""
        for item in fresh:
            line = self._line(board, item)
            if line:
                self._write(line)

    def close(self, board: Board, metrics_url: str | None) -> None:
        """Write the summary."""
        for line in summary_lines(board, metrics_url):
            self._write(line)

    def _line(self, board: Board, item: Item) -> str:
        run = board.runs.get(item.run_id) or RunRow(item.run_id)
        if isinstance(item, Finding):
            return f"run {run.short} {finding_line(item)}"
        if isinstance(item, Notice):
            return (
                f"run {run.short} notice {item.name} at message {item.message_index}: "
                f"{clean(item.explanation)}"
            )
        if isinstance(item, RunStarted) and not item.branch:
            word = "resumed" if item.resumed else "started"
            return f"run {run.short} {word}: {clean(item.name, 60) or 'run'} ({item.framework})"
        if isinstance(item, RunFinished) and not item.branch:
            return f"run {run.short} {ended(run)}"
        return ""

    def _write(self, line: str) -> None:
        self.stream.write(f"{line}\n")
        self.stream.flush()


def finding_line(finding: Finding) -> str:
    """A finding on one line: mode code, level, slug, who, where, why.

    >>> from mastwatch.findings import Severity
    >>> finding_line(Finding(mode="FM-1.3", severity=Severity.WARN, detector="d", run_id="r",
    ...     agent="Planner", message_index=9, evidence=(3, 6, 9), explanation="Three times.",
    ...     fingerprint="f"))
    'FM-1.3 WARN step_repetition Planner at message 9 (evidence 3, 6, 9): Three times.'
    """
    who = f" {clean(finding.agent, 60)}" if finding.agent else ""
    return (
        f"{finding.mode} {finding.severity.name} {finding.slug}{who} "
        f"{where(finding)}: {clean(finding.explanation, 600)}"
    )


def where(finding: Finding) -> str:
    """Say at which row it fired and which rows show it; of many, the last ones."""
    shown = finding.evidence[-8:]
    rows = ("… " if len(shown) < len(finding.evidence) else "") + ", ".join(map(str, shown))
    return f"at message {finding.message_index}" + (f" (evidence {rows})" if rows else "")


def ended(run: RunRow) -> str:
    """Say how a run ended and how big it was."""
    return (
        f"ended: {run.outcome or 'still running'}, {count(run.messages, 'message')}, "
        f"{count(run.tools, 'tool call')}, {count(len(run.episodes), 'finding')}"
    )


def count(number: int, noun: str) -> str:
    """Number and noun.

    >>> count(1, "finding"), count(0, "finding")
    ('1 finding', 'no findings')
    """
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"


def modes(run: RunRow) -> Iterator[tuple[str, list[Episode]]]:
    """A run's findings by mode, the most serious first."""
    by_mode: dict[str, list[Episode]] = {}
    for episode in run.episodes.values():
        by_mode.setdefault(episode.finding.mode, []).append(episode)
    yield from sorted(by_mode.items(), key=lambda item: (-_worst(item[1]), item[0]))


def _worst(episodes: list[Episode]) -> int:
    return max(episode.finding.severity for episode in episodes)


def first_seen(episodes: list[Episode], run: RunRow) -> str:
    """Say where a mode was seen first, against the length of the run."""
    return f"first at message {min(e.first_index for e in episodes)} of {run.rows}"


def summary_lines(board: Board, metrics_url: str | None) -> Iterator[str]:
    """The summary: per run how it ended and what was found, then where the metrics are."""
    yield "summary"
    for run in board.runs.values():
        state = "running" if run.active else run.outcome
        yield (
            f"  run {run.short} {run.name or 'run'} ({run.framework or 'unknown'}): {state}, "
            f"{count(run.messages, 'message')}, {count(run.tools, 'tool call')}"
        )
        if not run.episodes:
            yield "    no findings"
        for code, episodes in modes(run):
            worst = max(e.finding.severity for e in episodes)
            yield (
                f"    {code} {worst.name} {taxonomy.mode(code).slug}: "
                f"{count(len(episodes), 'finding')}, {first_seen(episodes, run)}"
            )
    if not board.runs:
        yield "  no run was seen"
    if board.forgotten:
        yield f"  and {count(board.forgotten, 'earlier run')} no longer listed"
    if board.skipped:
        yield f"  {count(board.skipped, 'event')} came too fast to be shown"
    yield from board.remarks
    yield f"metrics: {metrics_url}" if metrics_url else "metrics: not served"
