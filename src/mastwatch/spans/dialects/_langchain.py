"""What LangChain wraps around names, arguments and results, whoever traces it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from mastwatch.spans.dialects import _values as value

GENERIC_NODES = frozenset({"", "model", "agent", "tools", "__start__", "__end__"})
"""Node names the prebuilt agents use; they say what a node does, not who does it."""
_MIDDLEWARE = (".before_model", ".after_model", ".before_agent", ".after_agent")
_MAX_DEPTH = 6


class ToolOutput(NamedTuple):
    """What is in a tool's output once LangChain's wrapping is off."""

    text: str | None
    call_id: str | None = None
    failed: bool = False


def agent_of(metadata: Mapping[str, Any]) -> str | None:
    """Who is at work, by the metadata that LangGraph hands down; None where it does not say.

    >>> agent_of({"langgraph_node": "model", "langgraph_checkpoint_ns": "writer:1f|model:2a"})
    'writer'
    """
    name = value.text(metadata, "lc_agent_name")
    if name:
        return name
    node = str(metadata.get("langgraph_node") or "")
    if node not in GENERIC_NODES and not node.endswith(_MIDDLEWARE):
        return node
    namespace = str(metadata.get("langgraph_checkpoint_ns") or "")
    around = [segment.split(":", 1)[0] for segment in namespace.split("|")[:-1]]
    named = [segment for segment in around if segment not in GENERIC_NODES]
    return named[-1] if named else None


def tool_output(given: Any) -> ToolOutput:
    """Take the wrapping off a tool's output: constructors, envelopes, commands.

    >>> tool_output('{"type": "tool", "data": {"content": "3", "tool_call_id": "c1"}}')
    ToolOutput(text='3', call_id='c1', failed=False)
    >>> tool_output("plain")
    ToolOutput(text='plain', call_id=None, failed=False)
    """
    found = value.parsed(given)
    message = _tool_message(found, 0)
    if message is None:
        return ToolOutput(value.as_text(given))
    call_id = value.text(message, "tool_call_id")
    failed = message.get("status") == "error"
    return ToolOutput(_content(message.get("content")), call_id, failed)


def _tool_message(found: Any, depth: int) -> Mapping[str, Any] | None:
    """The last tool message in an output."""
    if depth > _MAX_DEPTH:
        return None
    if isinstance(found, (list, tuple)):
        inner = (_tool_message(item, depth + 1) for item in reversed(found[-50:]))
        return next((message for message in inner if message is not None), None)
    if not isinstance(found, Mapping):
        return None
    if "tool_call_id" in found and "content" in found:
        return found
    for key in ("output", "kwargs", "data", "update", "messages"):
        if key in found and (message := _tool_message(found[key], depth + 1)) is not None:
            return message
    return None


def _content(content: Any) -> str | None:
    if not isinstance(content, (list, tuple)):
        return value.as_text(content)
    parts = [part.get("text") if isinstance(part, Mapping) else part for part in content]
    return "".join(part for part in parts if isinstance(part, str))
