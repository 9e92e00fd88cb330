"""Recorded spans, told as if they happened now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from opentelemetry import trace

from mastwatch.guard import guard
from mastwatch.spans.bridging.listener import Listener
from mastwatch.spans.emit import Emitter

if TYPE_CHECKING:
    from mastwatch.spans.emit import Watcher
    from mastwatch.spans.foreign.span import ForeignSpan


def replay(spans: Iterable[ForeignSpan], watch: Watcher) -> None:
    """Tell the watch what recorded spans say, in the order of their times.

    Args:
        spans: In any order; what they say is known from their start on.
        watch: Where the Events go.
    """
    known = {span.span_id: span for span in spans}
    begun: set[str] = set()
    clock = _Clock()
    emitter = Emitter(watch, trace.NoOpTracer(), clock=clock)
    listener = Listener(emitter, clock=clock)
    for at, _, _, span_id in sorted(_moments(known)):
        clock.now = at
        span = known[span_id]
        with guard("replay"):
            if span_id in begun:
                listener.ended(int(span_id, 16), span.attributes, partial(_whole, span))
            else:
                begun.add(span_id)
                _begin(listener, span)
    emitter.histories.close()
    listener.close()


class _Clock:
    """The time of what is being told."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def _whole(span: ForeignSpan) -> ForeignSpan:
    return span


def _begin(listener: Listener, span: ForeignSpan) -> None:
    listener.started(
        int(span.span_id, 16),
        int(span.parent_id, 16) if span.parent_id else None,
        name=span.name,
        scope=span.scope,
        version=span.version,
        attributes=span.attributes,
        look=partial(_whole, span),
    )


def _moments(spans: Mapping[str, ForeignSpan]) -> Iterator[tuple[float, int, int, str]]:
    """When each span begins and ends; at one time what ends comes first, parents around all."""
    for span_id, span in spans.items():
        depth = _depth(span, spans)
        yield span.started, 1, depth, span_id
        yield span.ended, 0 if span.ended > span.started else 2, -depth, span_id


def _depth(span: ForeignSpan, spans: Mapping[str, ForeignSpan]) -> int:
    depth = 0
    parent = spans.get(span.parent_id or "")
    while parent is not None and depth < len(spans):  # a recording may hold a circle
        depth += 1
        parent = spans.get(parent.parent_id or "")
    return depth
