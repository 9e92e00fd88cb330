"""Runs exported from LangSmith, ``--format langsmith``: objects with ``run_type``.

A list of them, one per line, an object with ``runs``, or a tree by ``child_runs``. They are read as
the spans that LangSmith's own OpenTelemetry exporter would make of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from mastwatch.formats import fields
from mastwatch.formats.json_values import Value, each_run
from mastwatch.formats.recorded import Problem, Read, RecordedRun, Where
from mastwatch.formats.source import Source
from mastwatch.formats.traced.gathering import Trace, size_of, told_by_trace
from mastwatch.formats.traced.telling import runs_of

if TYPE_CHECKING:
    from mastwatch.spans.foreign.span import ForeignSpan

_MAX_DEPTH = 64  # of child runs


class LangSmithFormat:
    """Reader of LangSmith's runs."""

    name = "langsmith"

    def sniff(self, source: Source) -> bool:
        """Objects with a run type and inputs."""
        return any(
            isinstance(run.value, dict) and "run_type" in run.value and "inputs" in run.value
            for value in source.samples()
            for run in _runs(Value(value, Where("")))
        )

    def read(self, source: Source) -> Iterator[Read]:
        """Read all runs, trace by trace."""
        yield from told_by_trace(_parts(source), _tell, source.name)


def _parts(source: Source) -> Iterator[Problem | tuple[str, Mapping[str, object], int, Where]]:
    for item in source.values():
        if isinstance(item, Problem):
            yield item
            continue
        for one in _runs(item):
            run = one.value
            if not isinstance(run, dict) or not isinstance(run.get("run_type"), str):
                yield Problem(one.where, "is no run of LangSmith ('run_type'); skipped")
                continue
            trace_id = fields.identity(run, "trace_id") or fields.identity(run, "id") or "run"
            yield trace_id, run, size_of(run), one.where


def _runs(item: Value) -> Iterator[Value]:
    value = item.value
    if isinstance(value, dict) and "run_type" not in value and isinstance(value.get("runs"), list):
        value = value["runs"]
    yield from each_run(Value(value, item.where))


def _tell(trace: Trace[Mapping[str, object]]) -> Iterator[RecordedRun]:
    spans = [span for run in trace.parts for span in _tree(run, None, trace.id, 0)]
    yield from runs_of(spans, trace.where, LangSmithFormat.name, trace.id)


def _tree(
    run: Mapping[str, object], parent: str | None, trace_id: str, depth: int
) -> Iterator[ForeignSpan]:
    """A run, and those in it."""
    own = fields.identity(run, "id") or f"{trace_id}{parent}{depth}{run.get('name')}"
    yield _span(run, own, fields.identity(run, "parent_run_id") or parent, trace_id)
    children = run.get("child_runs")
    if isinstance(children, list) and depth < _MAX_DEPTH:
        for child in children:
            if isinstance(child, dict):
                yield from _tree(child, own, trace_id, depth + 1)


def _span(run: Mapping[str, object], own: str, parent: str | None, trace_id: str) -> ForeignSpan:
    from mastwatch.spans.foreign.span import ForeignSpan, SpanEvent

    error = run.get("error")
    events = [SpanEvent("exception", {"exception.message": str(error)})] if error else []
    started = fields.moment(run.get("start_time")) or 0.0
    return ForeignSpan(
        trace_id=trace_id,
        span_id=span_id(own),
        parent_id=span_id(parent) if parent else None,
        name=str(run.get("name") or ""),
        scope="langsmith",
        attributes=_attributes(run),
        events=events,
        failed=bool(error),
        description=str(error or "")[:200],
        started=started,
        ended=max(fields.moment(run.get("end_time")) or started, started),
    )


def _attributes(run: Mapping[str, object]) -> dict[str, object]:
    extra = run.get("extra")
    told = extra.get("metadata") if isinstance(extra, dict) else None
    metadata = told if isinstance(told, dict) else {}
    kind = str(run["run_type"]) if "run_type" in run else "chain"
    said = {
        "langsmith.span.kind": kind,
        "langsmith.trace.name": run.get("name"),
        "gen_ai.prompt": run.get("inputs"),
        "gen_ai.completion": run.get("outputs"),
        "gen_ai.usage.input_tokens": run.get("prompt_tokens"),
        "gen_ai.usage.output_tokens": run.get("completion_tokens"),
        "gen_ai.request.model": metadata.get("ls_model_name"),
        "gen_ai.tool.name": run.get("name") if kind == "tool" else None,
        **{f"langsmith.metadata.{key}": value for key, value in metadata.items()},
    }
    return {key: value for key, value in said.items() if value is not None}


def span_id(own: str) -> str:
    """A span's id for an id of another make.

    >>> span_id("4f1c") == span_id("4f1c") != span_id("4f1d"), len(span_id("x"))
    (True, 16)
    """
    return hashlib.blake2b(own.encode("utf-8", "replace"), digest_size=8).hexdigest()
