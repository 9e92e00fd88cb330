"""Reading message lists: parts or OpenAI's shape, JSON or sequence, flattened or whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mastwatch.events import RequestMessage, Role, ToolRequest
from mastwatch.spans.dialects._values import arguments, as_text, parsed
from mastwatch.spans.foreign.step import Answer
from mastwatch.spans.histories import HistoryMessage

MAX_MESSAGES = 2_000
"""Messages read of one list, the last ones."""
REDACTED = "__REDACTED__"
_ROLES: dict[str, Role] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}
_TEXT_TYPES = ("text", "input_text", "output_text", "refusal")


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a list.

    Attributes:
        role: Who speaks in the model's eyes.
        text: None when withheld; empty for one that only calls tools.
        name: Of the agent who said it, where the message tells.
        tool_calls: The tools it asks for.
        call_id: Of a tool's message: the call it answers.
        results: Of tools, where one message carries several.
    """

    role: Role
    text: str | None
    name: str = ""
    tool_calls: tuple[ToolRequest, ...] = ()
    call_id: str | None = None
    results: tuple[HistoryMessage, ...] = ()


def messages(value: Any) -> list[Message] | None:
    """Read a list of messages; None when there is none to read.

    >>> messages('[{"role": "user", "parts": [{"type": "text", "content": "hi"}]}]')[0].text
    'hi'
    """
    value = parsed(value)
    if isinstance(value, Mapping):
        inner = value.get("messages")
        value = inner if isinstance(inner, (list, tuple)) else [value]
    if not isinstance(value, (list, tuple)):
        return None
    read = (_message(parsed(item)) for item in value[-MAX_MESSAGES:])
    return [message for message in read if message is not None]


def request(
    said: Sequence[Message] | None, instructions: str | None = None
) -> tuple[RequestMessage, ...] | None:
    """What a model was sent, tool results one by one.

    Args:
        said: The messages.
        instructions: The system prompt, where it is kept apart from them.
    """
    if said is None:
        return None
    sent = [HistoryMessage(role="system", content=instructions)] if instructions else []
    for message in said:
        sent += message.results
        if message.text or message.tool_calls or not message.results:
            sent.append(
                HistoryMessage(
                    role=message.role,
                    content=message.text,
                    name=message.name,
                    tool_calls=message.tool_calls,
                    call_id=message.call_id,
                )
            )
    return tuple(sent)


def answer(said: Sequence[Message] | None) -> Answer | None:
    """What was said last: a span's output may hold the whole history."""
    for message in reversed(said or ()):
        if message.role == "assistant":
            return Answer(text=message.text, tool_calls=message.tool_calls, sender=message.name)
    return None


def last_of_person(said: Sequence[Message] | None) -> str | None:
    """What a person asked for: the last message of a user."""
    return next((m.text for m in reversed(said or ()) if m.role == "user" and m.text), None)


def instructions(value: Any) -> str | None:
    """A system prompt: plain text, or parts."""
    found = parsed(value)
    if isinstance(value, str) and not isinstance(found, (list, tuple, Mapping)):
        return value if value and value != REDACTED else None
    parts = [found] if isinstance(found, Mapping) else found
    return _text_of(parts) or None


def flattened(attributes: Mapping[str, Any], prefix: str) -> list[Any]:
    """Put together what was written as ``prefix.0.a.b``, ``prefix.1.a.b`` and so on.

    >>> flattened({"p.0.role": "user", "p.0.c.0.id": "x", "p.1.role": "tool"}, "p")
    [{'role': 'user', 'c': {'0': {'id': 'x'}}}, {'role': 'tool'}]
    """
    start = len(prefix) + 1
    found: dict[str, Any] = {}
    for key, value in attributes.items():
        if not key.startswith(prefix) or key[start - 1 : start] != ".":
            continue
        place, path = found, key[start:].split(".")
        for name in path[:-1]:
            deeper = place.setdefault(name, {})
            if not isinstance(deeper, dict):
                break
            place = deeper
        else:
            place[path[-1]] = value
    return items(found)


def items(numbered: Any) -> list[Any]:
    """The values of ``{"0": ..., "1": ...}`` by their numbers; empty for everything else."""
    if not isinstance(numbered, Mapping):
        return []
    return [numbered[key] for key in sorted((k for k in numbered if k.isdecimal()), key=int)]


def _message(item: Any) -> Message | None:
    if not isinstance(item, Mapping):
        return None
    role = _ROLES.get(str(item.get("role") or item.get("type") or "").lower())
    if role is None:
        return None
    name = item.get("name")
    name = name if isinstance(name, str) and role != "tool" else ""
    parts = item.get("parts")
    content = parts if isinstance(parts, (list, tuple)) else item.get("content")
    calls = tuple(_calls(_mappings(content))) + tuple(_openai_calls(item))
    results = tuple(_results(_mappings(content)))
    said = _text_of(content) if "content" in item or parts is not None else None
    if said is None and calls and not parts:
        said = ""  # OpenAI writes null beside tool calls
    return Message(role, said, name, calls, _id(item.get("tool_call_id")), results)


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    if not isinstance(value, (list, tuple)):
        return []
    return [part for part in value if isinstance(part, Mapping)]


def _text_of(content: Any) -> str | None:
    """The text of a message's content; None when a part of it is withheld."""
    if isinstance(content, str):
        return None if content == REDACTED else content
    if not isinstance(content, (list, tuple)):
        return None
    said: list[str] = []
    for part in content:
        if isinstance(part, str):
            said.append(part)
        elif isinstance(part, Mapping) and part.get("type", "text") in _TEXT_TYPES:
            found = part.get("content", part.get("text"))
            if not isinstance(found, str) or found == REDACTED:
                return None
            said.append(found)
    return "".join(said)


def _calls(parts: Iterable[Mapping[str, Any]]) -> Iterable[ToolRequest]:
    for part in parts:
        if part.get("type") in ("tool_call", "tool_use", "function_call"):
            given = part.get("arguments", part.get("input", part.get("args")))
            yield tool_request(part.get("name"), given, part.get("id") or part.get("call_id"))


def _openai_calls(item: Mapping[str, Any]) -> Iterable[ToolRequest]:
    for call in _mappings(item.get("tool_calls")):
        function = call.get("function")
        called = function if isinstance(function, Mapping) else call
        given = called.get("arguments", called.get("args"))
        yield tool_request(called.get("name"), given, call.get("id"))


def tool_request(name: Any, given: Any, call_id: Any) -> ToolRequest:
    """One tool call as a message asks for it."""
    return ToolRequest(
        name=str(name or ""),
        arguments=arguments(given),
        call_id=_id(call_id),
    )


def _id(given: Any) -> str | None:
    return str(given) if given else None


def _results(parts: Iterable[Mapping[str, Any]]) -> Iterable[HistoryMessage]:
    for part in parts:
        if part.get("type") in ("tool_call_response", "tool_result", "function_call_output"):
            keys = ("response", "result", "content", "output")
            found = next((part[key] for key in keys if key in part), None)
            call_id = part.get("id") or part.get("call_id") or part.get("tool_use_id")
            yield HistoryMessage(role="tool", content=as_text(found), call_id=_id(call_id))
