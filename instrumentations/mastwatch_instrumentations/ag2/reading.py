"""Reads AG2's events: texts, requests, tool calls, tokens."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ag2.compact import CompactionSummary
from ag2.events import (
    BaseEvent,
    DataInput,
    Input,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextInput,
    ToolCallEvent,
    ToolResultEvent,
    ToolResultsEvent,
    UrlInput,
)
from ag2.utils import MODEL_CONFIG_CONTEXT_DEPENDENCY_KEY

from mastwatch.events import RequestMessage, ToolRequest

_SUBTASK = re.compile(r"subtask-[0-9a-f]{8}")
_PROVIDERS = {
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "vertexai": "gcp.vertex_ai",
    "xai": "x_ai",
}


def agent_name(agent: Any) -> str:
    """Return an agent's name; those of sub-tasks are made up anew each time, so they share one.

    >>> from types import SimpleNamespace
    >>> agent_name(SimpleNamespace(name="subtask-0a1b2c3d")), agent_name(SimpleNamespace(name="Al"))
    ('subtask', 'Al')
    """
    name = str(agent.name)
    return "subtask" if _SUBTASK.fullmatch(name) else name


def parts_text(parts: Sequence[Input]) -> str:
    """Join what is text of some input, or of a tool's result."""
    return "\n".join(text for part in parts if (text := _part_text(part)) is not None)


def _part_text(part: Input) -> str | None:
    if isinstance(part, TextInput):
        return part.content
    if isinstance(part, DataInput):
        return part.data if isinstance(part.data, str) else as_json(part.data)
    return part.url if isinstance(part, UrlInput) else None


def as_json(value: object) -> str:
    """Write a value as text, whatever is in it."""
    try:
        return json.dumps(value, default=str, ensure_ascii=False)
    except (TypeError, ValueError):
        return str(value)


def task_text(trigger: BaseEvent) -> str | None:
    """Return what a turn was asked to do; None where it only goes on with tool results."""
    return parts_text(trigger.parts) if isinstance(trigger, ModelRequest) else None


def arguments(call: ToolCallEvent) -> object:
    """Return a tool call's arguments: parsed, or raw where they are no JSON."""
    try:
        return json.loads(call.arguments or "{}")
    except (TypeError, ValueError):
        return call.arguments


def tool_requests(response: ModelResponse) -> tuple[ToolRequest, ...]:
    """Return the tools that a response asks for."""
    return tuple(
        ToolRequest(name=call.name, arguments=arguments(call), call_id=call.id)
        for call in response.tool_calls.calls
    )


def tokens(response: ModelResponse) -> tuple[int | None, int | None]:
    """Return a response's input and output tokens."""
    usage = response.usage
    counts = (usage.prompt_tokens, usage.completion_tokens)
    spent, made = (None if count is None else int(count) for count in counts)
    return spent, made


def configured(dependencies: Mapping[Any, Any], name: str) -> str:
    """Return ``model`` or ``provider`` of a turn's configuration; empty where it does not say."""
    config = dependencies.get(MODEL_CONFIG_CONTEXT_DEPENDENCY_KEY)
    try:
        found = getattr(config, name, None)
    except NotImplementedError:  # what the base class and the fakes do
        return ""
    return str(getattr(found, "value", found) or "")


def provider_name(name: str | None) -> str:
    """Name a provider as ``gen_ai.provider.name`` does."""
    return _PROVIDERS.get(name or "", name or "")


def request_messages(
    prompts: Sequence[str], events: Sequence[BaseEvent]
) -> tuple[RequestMessage, ...]:
    """Take a snapshot of a model request: the system prompt and what the model is shown."""
    system = "\n".join(prompts)
    head = (RequestMessage(role="system", content=system),) if system else ()
    return (*head, *_messages(events))


def _messages(events: Sequence[BaseEvent]) -> Iterator[RequestMessage]:
    wrapped = {
        result.parent_id
        for event in events
        if isinstance(event, ToolResultsEvent)
        for result in event.results
    }
    for event in events:
        if isinstance(event, ModelRequest):
            yield RequestMessage(role="user", content=parts_text(event.parts))
        elif isinstance(event, ModelResponse):
            yield RequestMessage(role="assistant", content=event.content or "")
        elif isinstance(event, ModelMessage):  # what the hub shows an agent of its own words
            yield RequestMessage(role="assistant", content=event.content)
        elif isinstance(event, ToolResultsEvent):
            for result in event.results:
                yield _result(result)
        elif isinstance(event, ToolResultEvent) and event.parent_id not in wrapped:
            yield _result(event)
        elif isinstance(event, CompactionSummary):
            yield RequestMessage(role="user", content=event.summary)


def _result(result: ToolResultEvent) -> RequestMessage:
    return RequestMessage(
        role="tool", content=parts_text(result.result.parts), name=result.name or ""
    )
