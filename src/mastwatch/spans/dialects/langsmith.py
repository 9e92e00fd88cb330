"""LangSmith's OpenTelemetry exporter (``LANGSMITH_OTEL_ENABLED``), for LangChain and its wrappers.

Inputs and outputs are what LangChain has at hand, serialised; who is at work is in the metadata.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from mastwatch.spans.dialects import _messages as chat
from mastwatch.spans.dialects import _values as value
from mastwatch.spans.dialects._endings import Ending, ending
from mastwatch.spans.dialects._langchain import agent_of, tool_output
from mastwatch.spans.dialects.genai import INPUT_TOKENS, OUTPUT_TOKENS
from mastwatch.spans.foreign.span import ForeignSpan, SpanEvent
from mastwatch.spans.foreign.step import Op, Step

_KIND = "langsmith.span.kind"
_METADATA = "langsmith.metadata."
_RAISED = re.compile(r"\s*([A-Za-z_][\w.]*)\(")


class LangSmith:
    """LangSmith: the agent and the thread on every span, content unless hidden."""

    name = "langsmith"
    priority = 65

    def claims(self, scope: str, version: str, attributes: Mapping[str, Any]) -> bool:
        """Whether a span comes from LangSmith's exporter."""
        return scope == "langsmith" or _KIND in attributes

    def library(self, scope: str) -> str:
        """LangChain is what it is made for."""
        return "langchain"

    def opening(self, name: str, attributes: Mapping[str, Any]) -> Op | Literal["other"] | None:
        """Told by attributes that are set once the span has begun."""
        return _op(attributes, None) if _KIND in attributes else None

    def read(self, span: ForeignSpan) -> Step | None:
        """Read a finished span."""
        op = _op(span.attributes, span.parent_id)
        if op is None or op == "other":
            return None
        said = span.attributes
        metadata = {
            key.removeprefix(_METADATA): found
            for key, found in said.items()
            if key.startswith(_METADATA)
        }
        ended = _ending(span)
        sent, got = said.get("gen_ai.prompt"), said.get("gen_ai.completion")
        about: dict[str, Any] = {
            "agent": agent_of(metadata),
            "conversation_id": value.text(metadata, "thread_id", "session_id", "conversation_id"),
            "error": ended.error,
            "outcome": ended.outcome,
            "reason": ended.reason,
        }
        if op == "tool":
            about |= _of_tool(said, sent, got)
        elif op == "chat":
            about |= _of_chat(said, metadata, sent, got)
        else:
            history = _messages(sent)
            about |= {
                "name": value.text(said, "langsmith.trace.name"),
                "task": chat.last_of_person(history),
                "answer": chat.answer(_messages(got)) if op == "agent" else None,
            }
        return Step(op=op, **about)


def _op(said: Mapping[str, Any], parent: str | None) -> Op | Literal["other"]:
    kind = said.get(_KIND)
    if kind == "llm":
        return "chat"
    if kind == "tool":
        return "tool"
    name = said.get("langsmith.trace.name")
    if kind == "chain" and name is not None and name == said.get(f"{_METADATA}lc_agent_name"):
        return "agent"  # the graph of an agent; its nodes bear other names
    return "workflow" if kind == "chain" and parent is None else "other"


def _of_tool(said: Mapping[str, Any], sent: Any, got: Any) -> dict[str, Any]:
    output = value.mapping(got).get("output", got)
    found = tool_output(output) if output not in ("{}", None) else None
    given = value.arguments(sent)
    return {
        "name": value.text(said, "gen_ai.tool.name"),
        "arguments": given or None,  # hidden inputs are ``{}``, as those of a call without any
        "result": found.text if found else None,
        "call_id": value.text(said, "gen_ai.tool.call.id") or (found.call_id if found else None),
    }


def _of_chat(
    said: Mapping[str, Any], metadata: Mapping[str, Any], sent: Any, got: Any
) -> dict[str, Any]:
    return {
        "model": value.text(said, "gen_ai.response.model", "gen_ai.request.model"),
        "provider": value.text(metadata, "ls_provider"),
        "request": chat.request(_messages(sent)),
        "answer": chat.answer(_answers(got)),
        "input_tokens": value.count(said, *INPUT_TOKENS),
        "output_tokens": value.count(said, *OUTPUT_TOKENS),
    }


def _answers(given: Any) -> list[chat.Message] | None:
    """Of LangChain's generations or a provider's choices, the first; else plain messages."""
    found = value.mapping(given)
    first = _first(_first(found.get("generations"))) or _first(found.get("choices"))
    if isinstance(first, Mapping) and "message" in first:
        return _messages([first["message"]])
    return _messages(given)


def _messages(given: Any) -> list[chat.Message] | None:
    """A list of messages, their constructors taken off, the batch around them too."""
    found = value.parsed(given)
    if isinstance(found, Mapping):
        found = found.get("messages")
    if isinstance(found, (list, tuple)) and found and isinstance(found[0], (list, tuple)):
        # a batch of requests, or pairs of role and text
        pairs = all(len(item) == 2 and isinstance(item[0], str) for item in found)
        found = [{"role": a, "content": b} for a, b in found] if pairs else found[0]
    if not isinstance(found, (list, tuple)) or not found:
        return None
    return chat.messages([_unpacked(item) for item in found])


def _unpacked(item: Any) -> Any:
    inner = item.get("kwargs") if isinstance(item, Mapping) else None
    return inner if isinstance(inner, Mapping) else item


def _first(listed: Any) -> Any:
    return listed[0] if isinstance(listed, (list, tuple)) and listed else None


def _ending(span: ForeignSpan) -> Ending:
    """The exception's real type begins its message: the event says ``Exception`` of all."""
    events = []
    for event in span.events:
        raised = _RAISED.match(str(event.attributes.get("exception.message") or ""))
        said = {"exception.type": raised[1]} if raised else event.attributes
        events.append(SpanEvent(event.name, said))
    plain = ForeignSpan(
        trace_id=span.trace_id,
        span_id=span.span_id,
        attributes=span.attributes,
        events=events,
        failed=span.failed,
        description=span.description,
    )
    return ending(plain)


DIALECT = LangSmith()
