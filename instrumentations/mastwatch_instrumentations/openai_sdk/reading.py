"""Reading the SDK's requests and answers, as objects or as JSON; nothing of theirs is kept."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mastwatch.events import Role, ToolRequest
from mastwatch.spans.emit import HistoryMessage

_ROLES: dict[object, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
_RESULTS = ("function_call_output", "custom_tool_call_output")
UNFINISHED = ("queued", "in_progress")
"""States of a response that is made in the background."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model said.

    Attributes:
        text: None when it is not known.
        error: The response itself says that it failed.
        finished: It is the whole answer.
    """

    text: str | None = None
    tool_calls: tuple[ToolRequest, ...] = ()
    id: str = ""
    model: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    error: str | None = None
    finished: bool = True


def field(value: object, name: str) -> Any:
    """Read a field of an object of the SDK, or of the same thing as JSON.

    >>> field({"role": "user"}, "role"), field(None, "role")
    ('user', None)
    """
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def text_of(content: object) -> str:
    """Join the texts of a message's parts; of another part its type is told.

    >>> text_of([{"type": "text", "text": "What is this?"}, {"type": "image_url"}])
    'What is this?[image_url]'
    """
    if isinstance(content, str):
        return content
    if not isinstance(content, (list, tuple)):
        return ""
    return "".join(_part(part) for part in content)


def _part(part: object) -> str:
    said = field(part, "text") or field(part, "refusal")
    return said if isinstance(said, str) else f"[{field(part, 'type') or 'part'}]"


def arguments_of(raw: object) -> object:
    """Parse the arguments of a tool call; what is no JSON stays as it is."""
    if not isinstance(raw, str):
        return raw
    try:
        return json.loads(raw)
    except ValueError:
        return raw


def chat_request(parameters: Mapping[str, Any]) -> list[HistoryMessage]:
    """Read the messages of a chat completion's request.

    An iterator is left alone: it can be read but once.
    """
    messages = parameters.get("messages")
    return [_message(m) for m in messages] if isinstance(messages, (list, tuple)) else []


def _message(message: object) -> HistoryMessage:
    return HistoryMessage(
        role=_ROLES.get(field(message, "role"), "user"),
        content=text_of(field(message, "content")) or _str(field(message, "refusal")),
        name=_str(field(message, "name")),
        tool_calls=_tool_calls(message),
        call_id=_str(field(message, "tool_call_id")) or None,
    )


def _tool_calls(message: object) -> tuple[ToolRequest, ...]:
    calls = field(message, "tool_calls")
    return tuple(_tool_call(call) for call in calls) if isinstance(calls, (list, tuple)) else ()


def _tool_call(call: object) -> ToolRequest:
    function = field(call, "function")
    custom = field(call, "custom")
    return ToolRequest(
        name=_str(field(function or custom, "name")),
        arguments=arguments_of(
            field(function, "arguments") if function is not None else field(custom, "input")
        ),
        call_id=_str(field(call, "id")) or None,
    )


def chat_answer(completion: object) -> Answer:
    """Read a chat completion: its first choice and the usage."""
    choices = field(completion, "choices")
    message = field(choices[0], "message") if choices else None
    usage = field(completion, "usage")
    return Answer(
        text_of(field(message, "content")) or _str(field(message, "refusal")),
        _tool_calls(message),
        _str(field(completion, "id")),
        _str(field(completion, "model")),
        field(usage, "prompt_tokens"),
        field(usage, "completion_tokens"),
    )


def responses_request(parameters: Mapping[str, Any]) -> list[HistoryMessage]:
    """Read the input items of a response's request; items of one answer are one message."""
    items = parameters.get("input")
    instructions = parameters.get("instructions")
    told = [HistoryMessage(role="system", content=instructions)] if _str(instructions) else []
    if isinstance(items, str):
        return [*told, HistoryMessage(role="user", content=items)]
    return told + _merged(items) if isinstance(items, (list, tuple)) else told


def _merged(items: Sequence[object]) -> list[HistoryMessage]:
    made: list[HistoryMessage] = []
    for item in items:
        message = _item(item)
        if message is None:
            continue
        before = made[-1] if made else None
        if before is not None and before.role == message.role == "assistant":
            made[-1] = replace(
                before,
                content=(before.content or "") + (message.content or ""),
                tool_calls=(*before.tool_calls, *message.tool_calls),
            )
        else:
            made.append(message)
    return made


def _item(item: object) -> HistoryMessage | None:
    kind = field(item, "type")
    if kind in _CALLS:
        request = ToolRequest(
            name=_str(field(item, "name")),
            arguments=arguments_of(field(item, _CALLS[kind])),
            call_id=_str(field(item, "call_id")) or None,
        )
        return HistoryMessage(role="assistant", content="", tool_calls=(request,))
    if kind in _RESULTS:
        return HistoryMessage(
            role="tool",
            content=text_of(field(item, "output")),
            call_id=_str(field(item, "call_id")) or None,
        )
    role = field(item, "role")
    if role is None:
        return None  # reasoning, a reference, a tool of the provider's own
    content = text_of(field(item, "content"))
    return HistoryMessage(role=_ROLES.get(role, "user"), content=content)


def responses_answer(response: object) -> Answer:
    """Read a response: the texts and calls in its output, and the usage."""
    usage, failure = field(response, "usage"), field(response, "error")
    output = field(response, "output")
    said = _merged(output) if isinstance(output, (list, tuple)) else []
    status = field(response, "status")
    return Answer(
        "".join(message.content or "" for message in said),
        tuple(call for message in said for call in message.tool_calls),
        _str(field(response, "id")),
        _str(field(response, "model")),
        field(usage, "input_tokens"),
        field(usage, "output_tokens"),
        (_str(field(failure, "code")) or "ResponseFailed") if status == "failed" else None,
        status not in UNFINISHED,
    )


def follows(parameters: Mapping[str, Any]) -> str:
    """Name the earlier response, or the conversation, whose history the provider keeps."""
    conversation = parameters.get("conversation")
    named = parameters.get("previous_response_id"), conversation, field(conversation, "id")
    return next((name for name in named if isinstance(name, str)), "")


def provider_of(resource: object) -> str:
    """As in ``gen_ai.provider.name``."""
    client = type(getattr(resource, "_client", None)).__name__
    return "azure.ai.openai" if "Azure" in client else "openai"


def _str(value: object) -> str:
    return value if isinstance(value, str) else ""
