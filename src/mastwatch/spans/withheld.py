"""Spans of a library that traces itself, without their content, which stays in the process.

Such a library has one switch: content on its spans, or none for anybody. Given this provider it
writes all it knows; what may hold text of a message goes to the bridge alone, the rest becomes a
span on the global provider, where everything below it finds its parent.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from opentelemetry import trace
from opentelemetry.metrics import MeterProvider, NoOpMeterProvider
from opentelemetry.trace import Span, SpanContext, Status, StatusCode

from mastwatch.spans import semconv
from mastwatch.spans.scope import error_type

SHOWN = frozenset(
    {
        semconv.OPERATION_NAME,
        semconv.AGENT_NAME,
        semconv.CONVERSATION_ID,
        semconv.PROVIDER_NAME,
        semconv.TOOL_NAME,
        semconv.TOOL_CALL_ID,
        semconv.TOOL_TYPE,
        semconv.ERROR_TYPE,
        "gen_ai.agent.call.id",
        "gen_ai.system",
        "gen_ai.output.type",
    }
)
"""Attributes that hold no text of a message, besides those with the prefixes below."""
_SHOWN_PREFIXES = (
    "gen_ai.usage.",
    "gen_ai.aggregated_usage.",
    "gen_ai.request.",
    "gen_ai.response.",
    "server.",
)

_ending = threading.local()


def held_of(span_id: int) -> Mapping[str, Any] | None:
    """What is held back of a span that is just ending on this thread."""
    ending, held = getattr(_ending, "held", None) or (0, None)
    return held if ending == span_id else None


class WithheldTracing(trace.TracerProvider):
    """For a library's ``tracer_provider=``.

    Attributes:
        meters: For its ``meter_provider=``: the host did not ask for the library's metrics.
    """

    meters: MeterProvider = NoOpMeterProvider()

    def get_tracer(
        self,
        instrumenting_module_name: str,
        instrumenting_library_version: str | None = None,
        schema_url: str | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> trace.Tracer:
        """A tracer of the global provider that holds content back."""
        return _Tracer(
            trace.get_tracer(
                instrumenting_module_name,
                instrumenting_library_version,
                schema_url=schema_url,
                attributes=attributes,
            )
        )


class _Tracer(trace.Tracer):
    def __init__(self, tracer: trace.Tracer) -> None:
        self._tracer = tracer

    def start_span(
        self,
        name: str,
        context: Any = None,
        kind: trace.SpanKind = trace.SpanKind.INTERNAL,
        attributes: Any = None,
        links: Any = None,
        start_time: int | None = None,
        record_exception: bool = True,
        set_status_on_exception: bool = True,
    ) -> Span:
        shown, held = _split(attributes or {})
        span = self._tracer.start_span(
            name, context, kind, shown, links, start_time, False, set_status_on_exception
        )
        return _Span(span, held) if span.is_recording() else span

    @contextmanager
    def start_as_current_span(  # type: ignore[override]  # theirs also decorates coroutines
        self,
        name: str,
        context: Any = None,
        kind: trace.SpanKind = trace.SpanKind.INTERNAL,
        attributes: Any = None,
        links: Any = None,
        start_time: int | None = None,
        record_exception: bool = True,
        set_status_on_exception: bool = True,
        end_on_exit: bool = True,
    ) -> Iterator[Span]:
        span = self.start_span(name, context, kind, attributes, links, start_time)
        with trace.use_span(
            span,
            end_on_exit=end_on_exit,
            record_exception=record_exception,
            set_status_on_exception=set_status_on_exception,
        ):
            yield span


class _Span(trace.Span):
    """A span of the global provider, seen by the library that writes on it."""

    def __init__(self, span: Span, held: dict[str, Any]) -> None:
        self._span = span
        self._held = held

    def end(self, end_time: int | None = None) -> None:
        before = getattr(_ending, "held", None)  # who hears of an end may end spans, too
        _ending.held = (self._span.get_span_context().span_id, self._held)
        try:
            self._span.end(end_time)
        finally:
            _ending.held = before

    def get_span_context(self) -> SpanContext:
        return self._span.get_span_context()

    def set_attributes(self, attributes: Mapping[str, Any]) -> None:
        shown, held = _split(attributes)
        self._span.set_attributes(shown)
        self._held.update(held)

    def set_attribute(self, key: str, value: Any) -> None:
        self.set_attributes({key: value})

    def add_event(self, name: str, attributes: Any = None, timestamp: int | None = None) -> None:
        self._span.add_event(name, _split(attributes or {})[0], timestamp)

    def add_link(self, context: SpanContext, attributes: Any = None) -> None:
        self._span.add_link(context, attributes)

    def update_name(self, name: str) -> None:
        self._span.update_name(name)

    def is_recording(self) -> bool:
        return self._span.is_recording()

    def set_status(self, status: Status | StatusCode, description: str | None = None) -> None:
        # No description: it quotes the exception, which may quote the host's data.
        self._span.set_status(status.status_code if isinstance(status, Status) else status)

    def record_exception(
        self,
        exception: BaseException,
        attributes: Any = None,
        timestamp: int | None = None,
        escaped: bool = False,
    ) -> None:
        self._span.add_event("exception", {"exception.type": error_type(exception)}, timestamp)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._span, name)  # what the SDK's span has beyond the API


def _split(attributes: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    shown: dict[str, Any] = {}
    held: dict[str, Any] = {}
    for key, value in attributes.items():
        safe = key in SHOWN or key.startswith(_SHOWN_PREFIXES)
        (shown if safe else held)[key] = value
    return shown, held
