"""The recorded spans, and what a dialect makes of them."""

from __future__ import annotations

import json
from pathlib import Path

from mastwatch.spans.dialects import by_attributes, by_scope
from mastwatch.spans.foreign.otlp import spans_in
from mastwatch.spans.foreign.span import ForeignSpan
from mastwatch.spans.foreign.step import Dialect, Op, Step

DATA = Path(__file__).parent / "data"


def recorded(name: str) -> list[ForeignSpan]:
    """The spans of a recording, in order of ending."""
    lines = (DATA / f"{name}.jsonl").read_text().splitlines()
    return [span for line in lines for span in spans_in(json.loads(line))]


def dialect_of(span: ForeignSpan) -> Dialect | None:
    """Who reads a span, by its scope or else by what is on it."""
    known = by_scope(span.scope, span.version)
    return known or by_attributes(span.scope, span.version, span.attributes)


def steps(name: str, op: Op | None = None) -> list[Step]:
    """What the spans of a recording say, of one kind or all."""
    read = [dialect.read(span) for span in recorded(name) if (dialect := dialect_of(span))]
    return [step for step in read if step is not None and op in (None, step.op)]
