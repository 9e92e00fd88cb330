"""Tool calls as logs write them: flat (``name``, ``arguments``) or as OpenAI has them."""

from __future__ import annotations

from collections.abc import Mapping

from mastwatch.events import ToolRequest
from mastwatch.formats import fields


def tool_calls(message: Mapping[str, object]) -> tuple[ToolRequest, ...]:
    """The calls a message asks for; the older ``function_call`` counts as one.

    Raises:
        Malformed: They cannot be used.

    >>> tool_calls({"tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": "{}"}}]})
    (ToolRequest(name='f', arguments={}, call_id='c1'),)
    """
    value = message.get("tool_calls")
    if value is None and message.get("function_call") is not None:
        value = [{"function": message["function_call"]}]
    if value is None:
        return ()
    if not isinstance(value, list):
        raise fields.Malformed(f"'tool_calls' is {fields.kind(value)}, not a list")
    return tuple(_call(call) for call in value)


def _call(call: object) -> ToolRequest:
    if not isinstance(call, dict):
        raise fields.Malformed(f"a tool call is {fields.kind(call)}, not an object")
    # Custom tools carry free text as ``input``.
    told = call.get("function") or call.get("custom") or call
    if not isinstance(told, dict):
        raise fields.Malformed(f"'function' of a tool call is {fields.kind(told)}, not an object")
    return ToolRequest(
        name=fields.string(told, "name"),
        arguments=fields.arguments(told.get("arguments", told.get("input"))),
        call_id=fields.identity(call, "id"),
    )
