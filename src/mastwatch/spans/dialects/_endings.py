"""Reading how a span ended: failed, cancelled, left alone, or well."""

from __future__ import annotations

from typing import NamedTuple

from mastwatch.events import Outcome
from mastwatch.spans.foreign.span import ForeignSpan

_EXCEPTION_EVENTS = ("exception", "gen_ai.client.operation.exception")
_OUTCOMES: dict[str, Outcome] = {
    "GeneratorExit": "abandoned",
    "CancelledError": "cancelled",
    "Cancelled": "cancelled",
    "KeyboardInterrupt": "cancelled",
    "GraphRecursionError": "limit",
    "MaxTurnsExceeded": "limit",
    "UsageLimitExceeded": "limit",
    "GraphInterrupt": "paused",
}
_CONTROL_FLOW = ("ParentCommand", "GraphBubbleUp", "GraphDrained")


class Ending(NamedTuple):
    """How a span ended.

    Attributes:
        error: Exception type; None when nothing failed.
        outcome: What it means for a run, where it says more than failed or not.
        reason: In a few words, none of a message.
    """

    error: str | None = None
    outcome: Outcome | None = None
    reason: str = ""


def ending(span: ForeignSpan) -> Ending:
    """Read how a span ended; a stream that was left and a hand-off are no failure."""
    kind = span.attributes.get("error.type")
    raised = next(
        (event.attributes.get("exception.type") for event in span.events
         if event.name in _EXCEPTION_EVENTS),
        None,
    )  # fmt: skip
    if not span.failed and kind is None:
        return Ending()
    error = str(raised or kind or "_OTHER")
    if "abandoned stream" in span.description:
        return Ending(None, "abandoned", "the stream was left early")
    name = error.rsplit(".", 1)[-1]
    if kind is not None and name not in _OUTCOMES:  # one of both may be more exact
        name = next((n for n in (name, str(kind).rsplit(".", 1)[-1]) if n in _OUTCOMES), name)
    if not raised and kind is None:
        name = _named_in(span.description) or name
        error = name
    if name in _CONTROL_FLOW:
        return Ending()
    outcome = _OUTCOMES.get(name)
    return Ending(None if outcome else error, outcome, name if outcome else "")


def _named_in(description: str) -> str:
    """The exception's type where only the status tells, as ``ValueError: ...`` or its repr."""
    head = description.split("(", 1)[0].split(":", 1)[0].strip().rsplit(".", 1)[-1]
    return head if head.isidentifier() and head[:1].isupper() else ""
