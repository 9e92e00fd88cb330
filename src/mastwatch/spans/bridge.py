"""Listens to the spans that others make, and turns them into the Events of their runs.

One span processor per process, attached to a tracer provider at most once. What it hears goes to
the bridge in force; after ``uninstrument()`` it is inert, where it could not be taken out again.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor

from mastwatch.guard import guard
from mastwatch.spans.bridging.listener import Listener
from mastwatch.spans.bridging.providers import Seats
from mastwatch.spans.foreign import texts
from mastwatch.spans.foreign.span import from_sdk
from mastwatch.spans.withheld import WithheldTracing, held_of

if TYPE_CHECKING:
    from mastwatch.spans.emit import Emitter
    from mastwatch.spans.scope import Scope

LATE = ("langsmith",)
"""Scopes whose spans are made afterwards, in batches, parents first: for recordings only."""


class Processor(SpanProcessor):
    """Passes spans on to the bridge in force. Its errors would reach the host: none leaves it."""

    def __init__(self) -> None:
        self.listener: Listener | None = None
        self.seats = Seats(self)

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """A span has begun."""
        listener = self.listener
        if listener is None:
            return
        with guard("bridge.start"):
            context, scope = span.get_span_context(), span.instrumentation_scope
            if context is None or listener.passes(context.span_id, span):
                return
            listener.started(
                context.span_id,
                span.parent.span_id if span.parent is not None else None,
                name=span.name,
                scope=scope.name if scope is not None else "",
                version=(scope.version if scope is not None else "") or "",
                attributes=span.attributes or {},
                look=partial(from_sdk, span),
                live=span,
            )

    def on_end(self, span: ReadableSpan) -> None:
        """A span has ended."""
        listener = self.listener
        if listener is None:
            return
        with guard("bridge.end"):
            context, attributes = span.get_span_context(), span.attributes or {}
            if context is not None and not listener.passed(context.span_id, attributes):
                span_id = context.span_id
                held = held_of(span_id) or texts.take(trace.format_span_id(span_id))
                read = partial(from_sdk, span, held)
                listener.ended(span_id, attributes, read)

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Tell what still waits to hear more; nothing is exported here."""
        listener = self.listener
        if listener is not None:
            with guard("bridge.flush"):
                listener.flush()
        return True


_processor = Processor()


def span_processor() -> SpanProcessor:
    """The processor for tracer providers of the host's own; inert while nothing is instrumented.

    The global provider needs none of this: ``instrument()`` listens to it, whenever it is set.
    """
    return _processor


class Bridge:
    """The bridge of one ``instrument()``.

    Args:
        emitter: Told of the steps.
    """

    def __init__(self, emitter: Emitter) -> None:
        self.listener = Listener(emitter)
        self._emitter = emitter

    def start(self) -> None:
        """Listen to the global provider, and to one that the host sets later."""
        _processor.listener = self.listener
        self._emitter.bridge = self
        self.leave(LATE)
        _processor.seats.follow()

    def leave(self, scopes: Iterable[str]) -> None:
        """Leave the spans of these scopes alone: hooks of ours see the same."""
        self.listener.leave(scopes)

    def withheld(self) -> WithheldTracing:
        """What a library that traces itself is given so that it keeps no content back from us."""
        return WithheldTracing()

    def reads_model_call(self, span: trace.Span) -> bool:
        """Whether a span is an open model call that is read here."""
        return self.listener.chat_is_open(span.get_span_context().span_id)

    def inside_tool(self, span: trace.Span) -> Scope | None:
        """The scope for what hooks of ours see in a span, if that is in a tool read here."""
        return self.listener.inside_tool(span.get_span_context().span_id)

    def close(self) -> None:
        """Stop listening."""
        self._emitter.bridge = None
        if _processor.listener is self.listener:
            _processor.listener = None
            _processor.seats.leave()
        self.listener.close()
