"""Spans of one trace to the runs they tell of, by way of the bridge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from mastwatch.events import Event, MessageSent, RunStarted, ToolReturned
from mastwatch.formats.recorded import RecordedRun, Where

if TYPE_CHECKING:
    from mastwatch.spans.foreign.span import ForeignSpan


class _Listener:
    """In the watch's place: keeps the Events of each run."""

    def __init__(self) -> None:
        self.runs: dict[str, list[Event]] = {}

    def observe(self, event: Event) -> None:
        """Keep an Event; that nothing is found is all the same to the emitter."""
        self.runs.setdefault(event.run_id, []).append(event)

    def deliver(self, event: Event, verdicts: object) -> None:
        """Nobody to tell."""


def runs_of(
    spans: Sequence[ForeignSpan],
    where: Where,
    format_name: str,
    trace_id: str,
    *,
    framework: str = "",
    extra: Mapping[str, object] | None = None,
) -> Iterator[RecordedRun]:
    """Tell the runs of one trace; one that tells of no agent, model or tool has none.

    Args:
        spans: Of the trace, in any order.
        where: Where it begins.
        format_name: As in ``--format``.
        trace_id: Its id, which the first run bears as well.
        framework: What made it, where the spans do not say.
        extra: What else the export says.
    """
    from mastwatch.spans.bridging.replay import replay

    listener = _Listener()
    replay(spans, listener)
    runs = [found for found in listener.runs.values() if _spoke(found)]
    for number, found in enumerate(runs, 1):
        run_id = trace_id if number == 1 else f"{trace_id}/{number}"
        events = tuple(_renamed(event, run_id, framework) for event in found)
        started = next(event for event in events if isinstance(event, RunStarted))
        yield RecordedRun(
            id=run_id,
            where=where,
            format=format_name,
            framework=started.framework,
            events=events,
            messages=1 + max(event.index for event in events if isinstance(event, _ROWS)),
            extra=extra or {},
        )


_ROWS = (MessageSent, ToolReturned)


def _spoke(events: Sequence[Event]) -> bool:
    return any(isinstance(event, _ROWS) for event in events)


def _renamed(event: Event, run_id: str, framework: str) -> Event:
    if isinstance(event, RunStarted) and framework:
        return replace(event, run_id=run_id, framework=framework)
    return replace(event, run_id=run_id)
