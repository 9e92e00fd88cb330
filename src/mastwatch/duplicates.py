"""Tells an event that is reported twice from one that happens twice."""

from __future__ import annotations

from mastwatch.events import Event, MessageSent, ToolReturned
from mastwatch.runs import Lane, RunState

MAX_SEEN_IDS = 512
"""Ids remembered per run to recognise an event that is reported twice."""
DUPLICATE_WINDOW = 0.05
"""Seconds within which an equal adjacent record without id is the same happening."""


def is_duplicate(state: RunState, lane: Lane, event: Event) -> bool:
    """Whether the event was reported before; it is remembered for the next."""
    if event.id is not None:
        key = hash((type(event), event.id))
        if key in state.seen:
            return True
        state.seen[key] = None
        if len(state.seen) > MAX_SEEN_IDS:
            state.seen.popitem(last=False)
        return False
    row = _row(event)
    if row is None:
        return False
    index = getattr(event, "index", -1)
    # Where the log has other rows between (thoughts, which are no events), it is no echo.
    same = row == lane.last_row and index <= lane.last_index + 1
    if same and event.at is not None and lane.last_row_at is not None:
        same = event.at - lane.last_row_at <= DUPLICATE_WINDOW
    lane.last_row, lane.last_row_at, lane.last_index = row, event.at, index
    lane.echoes = lane.echoes + 1 if same else 0
    if isinstance(event, MessageSent):
        lane.copies = lane.echoes + 1
    elif lane.open_calls:
        # Calls that wait may give equal results; a log that echoes echoed their message as well.
        return same and lane.echoes % lane.copies != 0
    return same


def _row(event: Event) -> tuple[object, ...] | None:
    """What makes two adjacent records without ids the same row; None for events that are no row."""
    if isinstance(event, MessageSent):
        calls = tuple((call.name, repr(call.arguments)) for call in event.tool_calls)
        return ("message", event.sender, event.text, calls)
    if isinstance(event, ToolReturned):
        # Without the tool's name: the echo of a result finds its call answered, so it has none.
        return ("result", event.agent, event.result, event.error)
    return None
