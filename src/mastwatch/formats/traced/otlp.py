"""OTLP as JSON, ``--format otlp``: ``{"resourceSpans": [...]}``, one request per line or in all.

As the collector's file exporter writes it. Spans of every dialect of the bridge are read; those of
one trace may stand in many requests.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mastwatch.formats.json_values import Value, each_run
from mastwatch.formats.recorded import Problem, Read, RecordedRun, Where
from mastwatch.formats.source import Source
from mastwatch.formats.traced.gathering import Trace, size_of, told_by_trace
from mastwatch.formats.traced.telling import runs_of

if TYPE_CHECKING:
    from mastwatch.spans.foreign.span import ForeignSpan

_SPANS = "resourceSpans"
_OTHERS = ("resourceLogs", "resourceMetrics")  # a collector may write them to the same file


class OtlpFormat:
    """Reader of recorded OTLP."""

    name = "otlp"

    def sniff(self, source: Source) -> bool:
        """Requests with resource spans."""
        return any(
            isinstance(run.value, dict) and isinstance(run.value.get(_SPANS), list)
            for value in source.samples()
            for run in each_run(Value(value, Where("")))
        )

    def read(self, source: Source) -> Iterator[Read]:
        """Read all runs, trace by trace."""
        yield from told_by_trace(_parts(source), _tell, source.name)


def _parts(source: Source) -> Iterator[Problem | tuple[str, ForeignSpan, int, Where]]:
    for item in source.values():
        if isinstance(item, Problem):
            yield item
            continue
        for request in each_run(item):
            spans = _spans(request)
            if isinstance(spans, Problem):
                yield spans
                continue
            size = size_of(request.value) // max(len(spans), 1)
            for span in spans:
                yield span.trace_id, span, size, request.where


def _spans(request: Value) -> list[ForeignSpan] | Problem:
    from mastwatch.spans.foreign.otlp import spans_in

    if isinstance(request.value, dict) and any(key in request.value for key in _OTHERS):
        return []
    try:
        spans = list(spans_in(request.value))  # type: ignore[arg-type]
        return [span for span in spans if int(span.span_id, 16) and int(span.parent_id or "1", 16)]
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return Problem(request.where, "is no OTLP request of spans; skipped")


def _tell(trace: Trace[ForeignSpan]) -> Iterator[RecordedRun]:
    yield from runs_of(trace.parts, trace.where, OtlpFormat.name, trace.id)
