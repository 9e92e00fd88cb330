"""Strands Agents, traced by itself: content as events of the span, or as attributes.

By default the messages of a call are events, one each, in Amazon Bedrock's shape. With
``gen_ai_latest_experimental`` they are GenAI attributes, on one event or on the span.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from mastwatch.spans.dialects import _values as value
from mastwatch.spans.dialects._native import Native, with_attributes
from mastwatch.spans.dialects.genai import OPS
from mastwatch.spans.foreign.span import ForeignSpan
from mastwatch.spans.foreign.step import Op, Step

_DETAILS = "gen_ai.client.inference.operation.details"
_REDACTED = "[REDACTED]"
_SENT = {f"gen_ai.{role}.message": role for role in ("system", "user", "assistant", "tool")}
_CHOICE = "gen_ai.choice"
_FRAMEWORK = "strands-agents"
_TOOL_ERRORS = {"error": "tool_error"}


class Strands(Native):
    """Strands: session ids only where the user sets ``trace_attributes``."""

    name = "strands"
    scopes = ("strands.telemetry.tracer",)
    operations: ClassVar[Mapping[str, Op]] = {
        **OPS,
        "invoke_swarm": "workflow",
        "invoke_graph": "workflow",
    }

    def read(self, span: ForeignSpan) -> Step | None:
        """Read a finished span; swarms and graphs have operations of their own."""
        op = self.operations.get(str(span.attributes.get("gen_ai.operation.name")))
        return None if op is None else self.step(span, op)

    def step(self, span: ForeignSpan, op: Op) -> Step | None:
        """Read a step, wherever its content is."""
        said = {**span.attributes, **_details(span)}
        said |= _of_tool(span) if op == "tool" else _of_events(span)
        said = {key: found for key, found in said.items() if found != _REDACTED}
        step = super().step(with_attributes(replace(span, attributes={}), said), op)
        if step is None:
            return None
        answer = step.answer
        if answer is not None and answer.text:  # an agent's text ends in a line feed of its own
            answer = replace(answer, text=answer.text.removesuffix("\n"))
        return replace(
            step,
            conversation_id=step.conversation_id or value.text(said, "session.id"),
            provider=None if step.provider == _FRAMEWORK else step.provider,
            answer=answer,
            result=_plain(step.result),
            error=step.error or _TOOL_ERRORS.get(str(said.get("gen_ai.tool.status"))),
        )


def _details(span: ForeignSpan) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for event in span.events:
        if event.name == _DETAILS:
            found.update(event.attributes)
    return found


def _of_tool(span: ForeignSpan) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for event in span.events:
        if event.name == "gen_ai.tool.message":
            found["gen_ai.tool.call.arguments"] = event.attributes.get("content")
        elif event.name == _CHOICE:
            found["gen_ai.tool.call.result"] = event.attributes.get("message")
    return found


def _of_events(span: ForeignSpan) -> dict[str, Any]:
    """Messages from events, in the shape of the conventions."""
    sent, got = [], []
    for event in span.events:
        if (role := _SENT.get(event.name)) is not None:
            sent.append({"role": role, "parts": _parts(event.attributes.get("content"))})
        elif event.name == _CHOICE:
            got.append({"role": "assistant", "parts": _parts(event.attributes.get("message"))})
    found = {"gen_ai.input.messages": sent, "gen_ai.output.messages": got}
    return {key: listed for key, listed in found.items() if listed}


def _parts(content: Any) -> list[dict[str, Any]]:
    """Content blocks as parts; a text that is withheld stays so."""
    blocks = value.parsed(content)
    if isinstance(blocks, (list, tuple)):
        return list(_of_blocks(blocks))
    if not isinstance(content, str) or content == _REDACTED:
        return [{"type": "text", "content": None}]
    return [{"type": "text", "content": content}]


def _of_blocks(blocks: Sequence[Any]) -> Iterator[dict[str, Any]]:
    for block in blocks:
        if not isinstance(block, Mapping):
            continue
        if "text" in block:
            yield {"type": "text", "content": block["text"]}
        elif isinstance(call := block.get("toolUse"), Mapping):
            name, given, id = call.get("name"), call.get("input"), call.get("toolUseId")
            yield {"type": "tool_call", "name": name, "arguments": given, "id": id}
        elif isinstance(result := block.get("toolResult"), Mapping):
            yield {"type": "tool_call_response", "response": _joined(result.get("content"))}


def _plain(result: str | None) -> str | None:
    blocks = value.parsed(result)
    return result if blocks is None else value.as_text(_joined(blocks))


def _joined(blocks: Any) -> Any:
    """The text of content blocks; what is no text stays as it is."""
    if not isinstance(blocks, (list, tuple)) or not blocks:
        return blocks
    texts = [block.get("text") if isinstance(block, Mapping) else None for block in blocks]
    plain = [text for text in texts if isinstance(text, str)]
    return "\n".join(plain) if len(plain) == len(blocks) else blocks


DIALECT = Strands()
