"""Listens to the spans that others make, and turns them into the Events of their runs.

One span processor per process, attached to a tracer provider at most once. What it hears goes to
the bridge in force; after ``uninstrument()`` it is inert, where it could not be taken out again.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor

from mastwatch.guard import guard
from mastwatch.spans.bridging.listener import Listener
from mastwatch.spans.foreign import texts
from mastwatch.spans.foreign.span import from_sdk
from mastwatch.spans.withheld import WithheldTracing, held_here

if TYPE_CHECKING:
    from mastwatch.spans.emit import Emitter

LATE = ("langsmith",)
"""Scopes whose spans are made afterwards, in batches, parents first: for recordings only."""


class Processor(SpanProcessor):
    """Passes spans on to the bridge in force. Its errors would reach the host: none leaves it."""

    def __init__(self) -> None:
        self.listener: Listener | None = None
        self._providers: weakref.WeakSet[Any] = weakref.WeakSet()

    def attach(self, provider: object) -> None:
        """Listen to a tracer provider, once; one that takes no processors is left alone."""
        add = getattr(provider, "add_span_processor", None)
        if callable(add) and provider not in self._providers:
            self._providers.add(provider)
            add(self)

    def detach(self) -> None:
        """Leave the providers again where that can be done; there is no public way."""
        for provider in list(self._providers):
            active: Any = getattr(provider, "_active_span_processor", None)
            lock = getattr(active, "_lock", None)
            if isinstance(getattr(active, "_span_processors", None), tuple) and lock is not None:
                with lock:
                    others = tuple(p for p in active._span_processors if p is not self)
                    active._span_processors = others
                self._providers.discard(provider)

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """A span has begun."""
        listener = self.listener
        if listener is None:
            return
        with guard("bridge.start"):
            context, scope = span.get_span_context(), span.instrumentation_scope
            if context is None:
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
            context = span.get_span_context()
            if context is not None:
                held = held_here() or texts.take(trace.format_span_id(context.span_id))
                read = partial(from_sdk, span, held)
                listener.ended(context.span_id, span.attributes or {}, read)

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
        self._restore: Callable[[], None] = _nothing

    def start(self) -> None:
        """Listen to the global provider, and to one that the host sets later."""
        _processor.listener = self.listener
        self._emitter.bridge = self
        self.leave(LATE)
        _processor.attach(trace.get_tracer_provider())
        self._restore = _when_provider_is_set(_processor.attach)

    def leave(self, scopes: Iterable[str]) -> None:
        """Leave the spans of these scopes alone: hooks of ours see the same."""
        self.listener.leave(scopes)

    def withheld(self) -> WithheldTracing:
        """What a library that traces itself is given so that it keeps no content back from us."""
        return WithheldTracing()

    def reads_model_call(self, span: trace.Span) -> bool:
        """Whether a span is an open model call that is read here."""
        return self.listener.chat_is_open(span.get_span_context().span_id)

    def close(self) -> None:
        """Stop listening."""
        self._restore()
        self._emitter.bridge = None
        if _processor.listener is self.listener:
            _processor.listener = None
            _processor.detach()
        self.listener.close()


def _nothing() -> None:
    """There is nothing to restore."""


def _when_provider_is_set(then: Callable[[object], None]) -> Callable[[], None]:
    """Call ``then`` with the global provider that the host sets; return what undoes this.

    The API tells nobody of it. Every way of setting one, whatever function the host imported
    before, goes through one object that lets it happen once; its method is wrapped on that object
    alone.
    """
    once: Any = getattr(trace, "_TRACER_PROVIDER_SET_ONCE", None)
    do_once = getattr(once, "do_once", None)
    if do_once is None:
        return _nothing

    def watched(function: Callable[[], None]) -> bool:
        done: bool = do_once(function)
        if done:
            with guard("bridge.provider"):
                then(trace.get_tracer_provider())
        return done

    once.do_once = watched

    def restore() -> None:
        if vars(once).get("do_once") is watched:
            del once.do_once

    return restore
