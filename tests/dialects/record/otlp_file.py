"""Keeps finished spans and writes them as a collector's file exporter would, the same each time.

Ids, times and random names are replaced by counted ones, so that a fixture that was recorded again
differs only where the producer does; what tells of the machine is left out.

Each recorder names the versions it was run with: ``uv run tests/dialects/record/record_<name>.py``.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

DATA = Path(__file__).parent.parent / "data"
START = 1_700_000_000_000_000_000  # 2023-11-14, in nanoseconds
STEP = 10_000_000  # between two things that happened one after the other
KEPT = ("service.name", "telemetry.sdk.name")  # of a resource; the rest tells of the machine
STACK_TRACE = "exception.stacktrace"  # holds paths
RANDOM = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32}\b"
)
DATED = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:\+00:00|Z)?")


class OtlpFile(SpanExporter):
    """Collects spans in the order in which they end.

    Args:
        name: Of the fixture: ``data/<name>.jsonl``.
    """

    def __init__(self, name: str) -> None:
        self.path = DATA / f"{name}.jsonl"
        self.spans: list[ReadableSpan] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Keep them."""
        self.spans.extend(spans)
        return SpanExportResult.SUCCESS

    def provider(self) -> TracerProvider:
        """Make a provider whose spans come here."""
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self))
        return provider

    def write(self, keys: Mapping[str, object] | None = None) -> None:
        """Write one line per span and forget them.

        Args:
            keys: Attributes to write in place of those that differ at each recording; those that
                are None here are left out.
        """
        scribe = _Scribe(self.spans, dict(keys or {}))
        lines = [json.dumps(scribe.line(span), ensure_ascii=False) for span in self.spans]
        self.path.write_text("".join(f"{line}\n" for line in lines))
        self.spans.clear()


class _Scribe:
    """Writes the spans of one recording."""

    def __init__(self, spans: Iterable[ReadableSpan], instead: dict[str, object]) -> None:
        self._instead = instead
        self._seen: dict[str, str] = {}
        began = [span.start_time or 0 for span in spans]
        ended = [span.end_time or 0 for span in spans]
        within = [event.timestamp for span in spans for event in span.events]
        self._times = {
            at: START + rank * STEP for rank, at in enumerate(sorted({*began, *ended, *within}))
        }

    def line(self, span: ReadableSpan) -> dict[str, Any]:
        scope = span.instrumentation_scope
        scoped = {"name": scope.name, "version": scope.version or ""} if scope else {}
        kept = {key: value for key in KEPT if (value := span.resource.attributes.get(key))}
        return {
            "resourceSpans": [
                {
                    "resource": {"attributes": self._attributes(kept)},
                    "scopeSpans": [{"scope": scoped, "spans": [self._span(span)]}],
                }
            ]
        }

    def _span(self, span: ReadableSpan) -> dict[str, Any]:
        context = span.get_span_context()
        assert context is not None
        made: dict[str, Any] = {
            "traceId": self._counted(f"{context.trace_id:032x}", 32),
            "spanId": self._counted(f"{context.span_id:016x}", 16),
        }
        if span.parent is not None:
            made["parentSpanId"] = self._counted(f"{span.parent.span_id:016x}", 16)
        made |= {
            "name": self._text(span.name),
            "kind": span.kind.value + 1,
            "startTimeUnixNano": str(self._times[span.start_time or 0]),
            "endTimeUnixNano": str(self._times[span.end_time or 0]),
            "attributes": self._attributes(span.attributes or {}),
        }
        if span.events:
            made["events"] = [
                {
                    "timeUnixNano": str(self._times[event.timestamp]),
                    "name": event.name,
                    "attributes": self._attributes(event.attributes or {}),
                }
                for event in span.events
            ]
        made["status"] = {}
        if span.status.status_code.value:
            made["status"]["code"] = span.status.status_code.value
        if span.status.description:
            made["status"]["message"] = self._text(span.status.description)
        return made

    def _attributes(self, attributes: Mapping[Any, Any]) -> list[dict[str, Any]]:
        return [
            {"key": name, "value": self._value(self._instead.get(name, value))}
            for key, value in attributes.items()
            if (name := str(getattr(key, "value", key))) != STACK_TRACE
            and self._instead.get(name, value) is not None
        ]

    def _value(self, value: Any) -> dict[str, Any]:
        if isinstance(value, bool):
            return {"boolValue": value}
        if isinstance(value, int):
            return {"intValue": str(value)}
        if isinstance(value, float):
            return {"doubleValue": value}
        if isinstance(value, str):
            return {"stringValue": self._text(value)}
        return {"arrayValue": {"values": [self._value(item) for item in value]}}

    def _text(self, text: str) -> str:
        text = text.partition("Traceback (most recent call last)")[0]
        text = RANDOM.sub(lambda found: self._counted(found[0], 32), text)
        return DATED.sub("2023-11-14T22:13:20Z", text)

    def _counted(self, name: str, length: int) -> str:
        if name not in self._seen:
            number = f"{len(self._seen) + 1:0{length}x}"
            if "-" in name:
                cuts = (0, 8, 12, 16, 20, 32)
                number = "-".join(number[a:b] for a, b in itertools.pairwise(cuts))
            self._seen[name] = number
        return self._seen[name]
