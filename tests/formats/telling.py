"""Runs in a few words, for tests of readers."""

from __future__ import annotations

from pathlib import Path

from mastwatch.events import MessageSent, RunFinished, RunStarted, ToolReturned
from mastwatch.formats import RecordedRun, read_runs

LOGS = Path(__file__).parents[1] / "data" / "formats"


def read_log(name: str, format: str = "auto") -> tuple[list[RecordedRun], list[str]]:
    """The runs of a log of our own, and what is said of it, file names left out."""
    items = list(read_runs(LOGS / name, format))
    problems = [
        str(item).replace(f"{LOGS}/", "") for item in items if not isinstance(item, RecordedRun)
    ]
    return [item for item in items if isinstance(item, RecordedRun)], problems


def said(run: RecordedRun) -> list[tuple[int, str, str, str | None]]:
    """Row, speaker, kind and text of each message."""
    return [(e.index, e.sender, e.kind, e.text) for e in run.events if isinstance(e, MessageSent)]


def speakers(run: RecordedRun) -> list[str]:
    return [f"{sender}:{kind}" for _, sender, kind, _ in said(run)]


def calls(run: RecordedRun) -> list[tuple[int, str, object]]:
    """Row, tool and arguments of each call asked for."""
    found = [e for e in run.events if isinstance(e, MessageSent)]
    return [(e.index, call.name, call.arguments) for e in found for call in e.tool_calls]


def results(run: RecordedRun) -> list[tuple[int, str, str, str | None]]:
    found = [e for e in run.events if isinstance(e, ToolReturned)]
    return [(e.index, e.agent, e.name, e.result) for e in found]


def task(run: RecordedRun) -> str | None:
    return next(e.task for e in run.events if isinstance(e, RunStarted))


def ended(run: RecordedRun) -> tuple[str, str]:
    last = run.events[-1]
    assert isinstance(last, RunFinished)
    return last.outcome, last.reason
