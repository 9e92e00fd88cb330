"""Exports of Langfuse, ``--format langfuse``: traces with ``observations``, or observations alone.

As its page downloads them (``{"trace": ..., "observations": [...]}``), as its interface gives them
(a trace that holds its observations; ``{"data": [...]}``), in a list or one per line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from mastwatch.formats import fields
from mastwatch.formats.json_values import Value, each_run
from mastwatch.formats.recorded import Problem, Read, RecordedRun, Where
from mastwatch.formats.source import Source
from mastwatch.formats.traced.gathering import Trace, size_of, told_by_trace
from mastwatch.formats.traced.langsmith import span_id
from mastwatch.formats.traced.telling import runs_of

if TYPE_CHECKING:
    from mastwatch.spans.foreign.span import ForeignSpan

_OPERATIONS = {"GENERATION": "chat", "AGENT": "invoke_agent", "TOOL": "execute_tool"}
_TYPES = frozenset(
    {*_OPERATIONS, "SPAN", "EVENT", "CHAIN", "RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL"}
)
_OBSERVATIONS = "observations"
# Of the convention's own tools: the dialect of that name reads what follows.
_SCOPE = "opentelemetry.util.genai.langfuse"


class LangfuseFormat:
    """Reader of Langfuse's traces and observations."""

    name = "langfuse"

    def sniff(self, source: Source) -> bool:
        """Observations by their type, in a trace or by themselves."""
        return any(
            _is_observation(part)
            for value in source.samples()
            for one in _values(Value(value, Where("")))
            for part in _parts(one.value)
        )

    def read(self, source: Source) -> Iterator[Read]:
        """Read all runs, trace by trace."""
        yield from told_by_trace(_all_parts(source), _tell, source.name)


def _all_parts(source: Source) -> Iterator[Problem | tuple[str, Mapping[str, object], int, Where]]:
    for item in source.values():
        if isinstance(item, Problem):
            yield item
            continue
        for one in _values(item):
            parts = [part for part in _parts(one.value) if isinstance(part, dict)]
            if not parts:
                yield Problem(one.where, "is no trace or observation of Langfuse; skipped")
            for part in parts:
                trace_id = _trace_id(part) or _trace_id(parts[0]) or "trace"
                yield trace_id, part, size_of(part), one.where


def _values(item: Value) -> Iterator[Value]:
    value = item.value
    if isinstance(value, dict) and isinstance(value.get("data"), list):
        value = value["data"]
    yield from each_run(Value(value, item.where))


def _is_observation(value: object) -> bool:
    return (
        isinstance(value, dict)
        and value.get("type") in _TYPES
        and ("startTime" in value or "traceId" in value)
    )


def _parts(value: object) -> Iterator[object]:
    """A trace without its observations, then these; or an observation by itself."""
    if not isinstance(value, dict):
        return
    inner = value.get("trace")
    observations = value.get(_OBSERVATIONS)
    if isinstance(observations, list):
        own = inner if isinstance(inner, dict) else value
        yield {key: told for key, told in own.items() if key != _OBSERVATIONS}
        yield from observations
    elif _is_observation(value):
        yield value


def _trace_id(part: Mapping[str, object]) -> str | None:
    return (
        fields.identity(part, "traceId") if _is_observation(part) else fields.identity(part, "id")
    )


def _tell(trace: Trace[Mapping[str, object]]) -> Iterator[RecordedRun]:
    seen = [part for part in trace.parts if _is_observation(part)]
    around = next((part for part in trace.parts if not _is_observation(part)), {})
    spans = [_span(part, trace.id) for part in seen]
    if seen:
        spans.append(_root(around, spans, trace.id))
    extra = {key: around[key] for key in ("scores", "tags", "metadata") if key in around}
    yield from runs_of(
        spans, trace.where, LangfuseFormat.name, trace.id, framework="langfuse", extra=extra
    )


def _root(trace: Mapping[str, object], spans: list[ForeignSpan], trace_id: str) -> ForeignSpan:
    """The trace itself, around all that has no parent."""
    from mastwatch.spans.foreign.span import ForeignSpan

    said = {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.workflow.name": trace.get("name"),
        "gen_ai.conversation.id": trace.get("sessionId"),
        "gen_ai.input.messages": _messages(trace.get("input"), "user"),
    }
    return ForeignSpan(
        trace_id=trace_id,
        span_id=span_id(trace_id),
        name=str(trace.get("name") or "trace"),
        scope=_SCOPE,
        attributes={key: value for key, value in said.items() if value is not None},
        started=min(span.started for span in spans),
        ended=max(span.ended for span in spans),
    )


def _span(part: Mapping[str, object], trace_id: str) -> ForeignSpan:
    from mastwatch.spans.foreign.span import ForeignSpan

    failed = part.get("level") == "ERROR"
    started = fields.moment(part.get("startTime")) or 0.0
    said = _attributes(part)
    if failed:
        said["error.type"] = "_OTHER"
    return ForeignSpan(
        trace_id=trace_id,
        span_id=span_id(fields.identity(part, "id") or str(started)),
        parent_id=span_id(fields.identity(part, "parentObservationId") or trace_id),
        name=str(part.get("name") or ""),
        scope=_SCOPE,
        attributes={key: value for key, value in said.items() if value is not None},
        failed=failed,
        description=str(part.get("statusMessage") or "")[:200] if failed else "",
        started=started,
        ended=max(fields.moment(part.get("endTime")) or started, started),
    )


def _attributes(part: Mapping[str, object]) -> dict[str, object]:
    from mastwatch.spans.dialects._langchain import agent_of

    operation = _OPERATIONS.get(str(part.get("type")))
    name, given, got = part.get("name"), part.get("input"), part.get("output")
    metadata = part.get("metadata")
    said: dict[str, object] = {"gen_ai.operation.name": operation}
    if operation == "execute_tool":
        said |= {"gen_ai.tool.name": name, "gen_ai.tool.call.arguments": given}
        said["gen_ai.tool.call.result"] = _content(got)
    elif operation is not None:
        agent = name if operation == "invoke_agent" else agent_of(_mapping(metadata))
        usage = _mapping(part.get("usageDetails")) or _mapping(part.get("usage"))
        said |= {
            "gen_ai.agent.name": agent,
            "gen_ai.request.model": part.get("model"),
            "gen_ai.input.messages": _messages(given, "user"),
            "gen_ai.output.messages": _messages(got, "assistant"),
            "gen_ai.usage.input_tokens": usage.get("input"),
            "gen_ai.usage.output_tokens": usage.get("output"),
        }
    return said


def _mapping(value: object) -> Mapping[str, object]:
    value = fields.arguments(value)
    return value if isinstance(value, dict) else {}


def _content(value: object) -> object:
    """A tool's result without the message LangChain puts around it."""
    return value["content"] if isinstance(value, dict) and "content" in value else value


def _messages(value: object, role: str) -> list[object] | None:
    """What was said, as messages, in whichever of its shapes Langfuse has it."""
    value = fields.arguments(value)  # some exports hold JSON as text
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        value = value["messages"]
    if isinstance(value, list):
        return [{"role": role, "content": one} if isinstance(one, str) else one for one in value]
    if isinstance(value, dict):
        return [{"role": role, **value}] if "content" in value or "tool_calls" in value else None
    return [{"role": role, "content": value}] if isinstance(value, str) else None
