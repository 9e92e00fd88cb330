"""What AgentChat's messages, model requests and clients say, read without touching them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from autogen_agentchat.messages import BaseChatMessage, ToolCallRequestEvent
from autogen_core import FunctionCall
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    SystemMessage,
)

from mastwatch.events import RequestMessage, ToolRequest
from mastwatch.interventions import SPEAKER

_PROVIDERS = {
    "anthropic": "anthropic",
    "azure": "azure.ai.inference",
    "openai": "openai",
}


def task_text(task: object) -> str | None:
    """Return what a run was asked to do; None when it was only told to go on."""
    if isinstance(task, str):
        return task
    if isinstance(task, BaseChatMessage):
        return message_text(task)
    if isinstance(task, Sequence):
        told = [message_text(message) for message in task if isinstance(message, BaseChatMessage)]
        return "\n".join(told) or None
    return None


def message_text(message: BaseChatMessage) -> str:
    """Return what a message says; pictures as ``[image]``, a structured one as its JSON."""
    return str(message.to_model_text())


def tool_requests(message: ToolCallRequestEvent) -> tuple[ToolRequest, ...]:
    """Return the tool calls a message asks for."""
    return tuple(tool_request(call) for call in message.content)


def tool_request(call: FunctionCall) -> ToolRequest:
    """Return a tool call with its arguments parsed."""
    return ToolRequest(name=call.name, arguments=parsed(call.arguments), call_id=call.id or None)


def parsed(arguments: object) -> object:
    """Return a call's arguments as JSON where they are, else as they came.

    >>> parsed('{"city": "Bonn"}'), parsed("oops")
    ({'city': 'Bonn'}, 'oops')
    """
    if isinstance(arguments, str):
        try:
            return json.loads(arguments)
        except ValueError:
            return arguments
    return arguments


def tool_error(result: FunctionExecutionResult) -> str | None:
    """Name the kind of failure; AgentChat keeps the message of a tool's exception, not its type."""
    if not result.is_error:
        return None
    return "ToolNotFound" if "not found in any workbench" in result.content else "ToolError"


def request_messages(messages: Iterable[Any]) -> tuple[RequestMessage, ...]:
    """Return a snapshot of a model request."""
    found: list[RequestMessage] = []
    for message in messages:
        source = str(getattr(message, "source", ""))
        if isinstance(message, SystemMessage):
            found.append(RequestMessage(role="system", content=message.content))
        elif isinstance(message, FunctionExecutionResultMessage):
            found.extend(
                RequestMessage(role="tool", content=result.content, name=result.name)
                for result in message.content
            )
        elif isinstance(message, AssistantMessage):
            said = message.content if isinstance(message.content, str) else ""
            found.append(RequestMessage(role="assistant", content=said, name=source))
        elif source != SPEAKER:  # a nudge of ours is said once, and no part of the history
            text = _content(getattr(message, "content", ""))
            found.append(RequestMessage(role="user", content=text, name=source))
    return tuple(found)


def _content(content: object) -> str:
    if isinstance(content, list):
        return " ".join(part if isinstance(part, str) else "<image>" for part in content)
    return str(content)


def answer_text(result: Any) -> str:
    """Return what a model said; empty where it only calls tools."""
    content = getattr(result, "content", "")
    return content if isinstance(content, str) else ""


def usage(result: Any) -> tuple[int | None, int | None]:
    """Return the input and output tokens of an answer; clients without a count say 0 and 0."""
    counts = getattr(result, "usage", None)
    spent, made = getattr(counts, "prompt_tokens", 0), getattr(counts, "completion_tokens", 0)
    return (spent, made) if spent or made else (None, None)


def model_name(client: Any) -> str:
    """Return the model a client is configured for; empty when it does not say."""
    configured = getattr(client, "_create_args", None)
    name = configured.get("model") if isinstance(configured, dict) else None
    return str(name or getattr(client, "model", None) or "")


def provider_name(client: Any) -> str:
    """Return the provider of one of AutoGen's own clients, as ``gen_ai.provider.name`` has it."""
    kind = type(client)
    if kind.__name__.startswith("AzureOpenAI"):
        return "azure.ai.openai"
    package, _, name = kind.__module__.partition("autogen_ext.models.")
    return "" if package else _PROVIDERS.get(name.split(".")[0], "")
