"""OTLP JSON, as collectors write it to files, to foreign spans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mastwatch.spans.foreign.span import ForeignSpan, SpanEvent


def spans_in(request: Mapping[str, Any]) -> Iterator[ForeignSpan]:
    """Yield the spans of one ``ExportTraceServiceRequest`` (one line of a collector's file).

    Args:
        request: Parsed JSON: ``{"resourceSpans": [...]}``.

    Raises:
        KeyError, TypeError, ValueError: It is not OTLP.
    """
    for group in request["resourceSpans"]:
        resource = attributes_of((group.get("resource") or {}).get("attributes"))
        for scoped in group.get("scopeSpans") or ():
            scope = scoped.get("scope") or {}
            for span in scoped.get("spans") or ():
                yield _span(span, scope, resource)


def _span(
    span: Mapping[str, Any], scope: Mapping[str, Any], resource: Mapping[str, Any]
) -> ForeignSpan:
    status = span.get("status") or {}
    return ForeignSpan(
        trace_id=str(span["traceId"]),
        span_id=str(span["spanId"]),
        parent_id=span.get("parentSpanId") or None,
        name=str(span.get("name") or ""),
        scope=str(scope.get("name") or ""),
        version=str(scope.get("version") or ""),
        attributes=attributes_of(span.get("attributes")),
        events=[
            SpanEvent(str(event.get("name") or ""), attributes_of(event.get("attributes")))
            for event in span.get("events") or ()
        ],
        failed=status.get("code") in (2, "STATUS_CODE_ERROR"),
        description=str(status.get("message") or ""),
        started=int(span.get("startTimeUnixNano") or 0) / 1e9,
        ended=int(span.get("endTimeUnixNano") or 0) / 1e9,
        resource=resource,
    )


def attributes_of(listed: Any) -> dict[str, Any]:
    """Turn OTLP's list of key and value into a mapping.

    >>> attributes_of([{"key": "n", "value": {"intValue": "3"}}])
    {'n': 3}
    """
    return {str(item["key"]): _value(item.get("value") or {}) for item in listed or ()}


def _value(value: Mapping[str, Any]) -> Any:
    if "intValue" in value:
        return int(value["intValue"])
    if "arrayValue" in value:
        return [_value(item) for item in value["arrayValue"].get("values") or ()]
    if "kvlistValue" in value:
        return attributes_of(value["kvlistValue"].get("values"))
    return next(iter(value.values()), None)
