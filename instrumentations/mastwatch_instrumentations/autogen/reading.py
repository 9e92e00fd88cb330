"""What AG2's messages, replies and model responses say, read without touching them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from mastwatch.events import MessageKind, RequestMessage, Role, ToolRequest
from mastwatch.interventions import SPEAKER

TOOL_EXECUTORS = frozenset({"_Group_Tool_Executor", "_Swarm_Tool_Executor"})
"""Agents of a group pattern that run tools for others; no speakers."""

SELECTORS = ("checking_agent", "speaker_selection_agent")
"""The two agents of the hidden chat in which a model picks the next speaker."""

_CODE_OUTPUT = re.compile(r"exitcode: -?\d+ \(execution (succeeded|failed)\)\nCode output: ")
_TRANSFER = re.compile(r"\[Handing off to [^\]]*\]")
_ROLES = frozenset({"assistant", "user", "tool", "system"})


def text_of(content: object) -> str | None:
    """Return a message content's text; None where there is none to read.

    >>> text_of([{"type": "text", "text": "look:"}, {"type": "image_url", "image_url": {}}])
    'look: <image_url>'
    """
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, list):
        return " ".join(_part(part) for part in content)
    return None  # a template that AG2 fills in per model call


def _part(part: object) -> str:
    if isinstance(part, Mapping):
        kind = part.get("type", "part")
        return str(part.get("text", "")) if kind == "text" else f"<{kind}>"
    return str(part)


def message_text(message: object) -> str | None:
    """Return the text of a message; empty for one that only calls tools.

    >>> message_text({"content": None, "tool_calls": [{}]})
    ''
    """
    if not isinstance(message, Mapping):
        return text_of(message)
    content = message.get("content")
    return "" if content is None else text_of(content)


def only_tool_results(message: object) -> bool:
    """Whether a message is nothing but what tools returned; their spans say that already."""
    return isinstance(message, Mapping) and message.get("role") in ("tool", "function")


def is_transfer_note(reply: object) -> bool:
    """Whether a reply is the line AG2 writes itself where a condition passes control on."""
    return _TRANSFER.fullmatch(message_text(reply) or "") is not None


def tool_requests(message: object) -> tuple[ToolRequest, ...]:
    """Return the tool calls a message asks for, the old ``function_call`` form included."""
    if not isinstance(message, Mapping):
        return ()
    found = []
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        found.append(_request(function, call.get("id")))
    if message.get("function_call"):
        found.append(_request(message["function_call"], message.get("id")))
    return tuple(found)


def _request(function: Mapping[str, Any], call_id: str | None) -> ToolRequest:
    arguments = parsed(function.get("arguments"))
    return ToolRequest(name=function.get("name") or "", arguments=arguments, call_id=call_id)


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


def result_text(content: object) -> str:
    """Return a tool's result as text."""
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if isinstance(content, (dict, list, tuple)):
        return json.dumps(content, default=str, ensure_ascii=False)
    return str(content)


def tool_error(text: str) -> str:
    """Name the kind of failure; AG2 keeps the message of a tool's exception, not its type."""
    if text.startswith("Error: Function ") and text.endswith(" not found."):
        return "ToolNotFound"
    if text.endswith("The argument must be in JSON format."):
        return "JSONDecodeError"
    return "ToolError"


def reply_kind(agent: Any, reply: object, model_called: bool) -> MessageKind:
    """Say who wrote an agent's reply: a model, a person, a program, or whoever configured it."""
    if model_called:
        return "reply"
    asks = getattr(agent, "human_input_mode", "NEVER") != "NEVER"
    if asks and isinstance(reply, Mapping) and reply.get("role") == "user":
        return "human"  # the shape in which check_termination_and_human_reply hands it over
    if reply == getattr(agent, "_default_auto_reply", None):
        return "auto_reply"
    runs_code = getattr(agent, "_code_execution_config", False) is not False
    if runs_code and _CODE_OUTPUT.match(message_text(reply) or ""):
        return "code"
    return "reply"


def request_messages(messages: Sequence[Mapping[str, Any]]) -> tuple[RequestMessage, ...]:
    """Return a snapshot of a model request, tool responses unrolled as AG2 sends them."""
    found: list[RequestMessage] = []
    for message in messages:
        if message.get("name") == SPEAKER:
            continue  # a nudge of ours is said once, and no part of the history
        responses = message.get("tool_responses") or ()
        found.extend(_request_message(response) for response in responses)
        if not responses or message.get("role") != "tool":
            found.append(_request_message(message))
    return tuple(found)


def _request_message(message: Mapping[str, Any]) -> RequestMessage:
    role = message.get("role")
    known = cast(Role, role if role in _ROLES else "tool" if role == "function" else "user")
    return RequestMessage(
        role=known, content=message_text(message), name=str(message.get("name") or "")
    )


def model_name(client: Any) -> str:
    """Return the model a client is configured for; empty when it does not say."""
    configs = getattr(client, "_config_list", None)
    if isinstance(configs, list) and configs and isinstance(configs[0], Mapping):
        return str(configs[0].get("model") or "")
    return ""


def provider_name(client: Any) -> str:
    """Return the provider a client is configured for, as ``gen_ai.provider.name`` has it."""
    configs = getattr(client, "_config_list", None)
    if not (isinstance(configs, list) and configs and isinstance(configs[0], Mapping)):
        return ""
    if configs[0].get("model_client_cls"):
        return ""
    kind = str(configs[0].get("api_type") or "openai")
    return {"azure": "azure.ai.openai", "google": "gcp.gemini", "bedrock": "aws.bedrock"}.get(
        kind, kind
    )


def usage(response: object) -> tuple[int | None, int | None]:
    """Return a response's input and output tokens."""
    counts = getattr(response, "usage", None)
    if counts is None:
        return None, None
    return _count(counts, "prompt_tokens"), _count(counts, "completion_tokens")


def _count(counts: object, name: str) -> int | None:
    value = counts.get(name) if isinstance(counts, Mapping) else getattr(counts, name, None)
    return value if isinstance(value, int) else None
