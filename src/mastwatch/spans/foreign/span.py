"""A finished span of another producer, from the SDK in this process or from recorded OTLP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan


class SpanEvent(NamedTuple):
    """An event on a span: an exception, or a message in dialects that write them as events."""

    name: str
    attributes: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignSpan:
    """What a dialect reads; ids are hexadecimal, times are Unix time in seconds.

    Attributes:
        scope: Name of the instrumentation scope, which tells the producer.
        version: Version of that scope.
        attributes: As written; keys are plain strings.
        failed: The status is ERROR.
        description: Of the status.
        resource: Attributes of the resource.
    """

    trace_id: str
    span_id: str
    parent_id: str | None = None
    name: str = ""
    scope: str = ""
    version: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    events: Sequence[SpanEvent] = ()
    failed: bool = False
    description: str = ""
    started: float = 0.0
    ended: float = 0.0
    resource: Mapping[str, Any] = field(default_factory=dict)


def from_sdk(span: ReadableSpan, held: Mapping[str, Any] | None = None) -> ForeignSpan:
    """Look at a span of the SDK; its attributes are not copied.

    Args:
        span: Open or ended.
        held: More attributes, which are not exported (see ``spans.withheld``).
    """
    context, scope, status = span.get_span_context(), span.instrumentation_scope, span.status
    trace_id, span_id = (context.trace_id, context.span_id) if context else (0, 0)
    attributes = _plain_keys(span.attributes or {})
    return ForeignSpan(
        trace_id=f"{trace_id:032x}",
        span_id=f"{span_id:016x}",
        parent_id=f"{span.parent.span_id:016x}" if span.parent else None,
        name=span.name,
        scope=scope.name if scope else "",
        version=(scope.version if scope else "") or "",
        attributes={**attributes, **held} if held else attributes,
        events=[SpanEvent(event.name, event.attributes or {}) for event in span.events],
        failed=status.status_code.name == "ERROR",
        description=status.description or "",
        started=(span.start_time or 0) / 1e9,
        ended=(span.end_time or 0) / 1e9,
        resource=span.resource.attributes,
    )


def _plain_keys(attributes: Mapping[Any, Any]) -> Mapping[str, Any]:
    # Microsoft's agent-framework writes members of a str Enum as keys.
    if all(type(key) is str for key in attributes):
        return attributes
    return {str(getattr(key, "value", key)): value for key, value in attributes.items()}
