"""Reading smolagents' messages and results; nothing of theirs is kept or changed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from mastwatch.events import RequestMessage, Role

MAX_ITEMS = 200
"""Of a list or mapping in tool arguments."""
MAX_DEPTH = 8
MAX_AGENTS = 50
"""Agents whose prompts are looked up at a run's start."""
_ROLES: dict[str, Role] = {
    "system": "system",
    "user": "user",
    "assistant": "assistant",
    "tool-call": "assistant",
    "tool-response": "tool",
}


def agent_name(agent: Any) -> str:
    """Return what an agent is called; only managed agents need a name."""
    return str(getattr(agent, "name", None) or type(agent).__name__)


def text_of(content: object) -> str:
    """Return the text of a message, parts joined."""
    if isinstance(content, str):
        return content
    if not isinstance(content, (list, tuple)):
        return ""
    parts = (part.get("text") for part in content if isinstance(part, Mapping))
    return "".join(part for part in parts if isinstance(part, str))


def plain(value: object, depth: int = 0) -> object:
    """Copy a value as plain data; of what is none (an image, a frame) only the type is told.

    >>> plain({"a": (1, None), "b": {2}})
    {'a': [1, None], 'b': 'set'}
    """
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if depth < MAX_DEPTH and isinstance(value, Mapping):
        items = list(value.items())[:MAX_ITEMS]
        return {str(key): plain(item, depth + 1) for key, item in items}
    if depth < MAX_DEPTH and isinstance(value, (list, tuple)):
        return [plain(item, depth + 1) for item in value[:MAX_ITEMS]]
    return type(value).__name__


def as_text(value: object) -> str:
    """Return a tool's result as text, as the model gets it.

    >>> as_text("dry"), as_text({"rain": 0}), as_text(7)
    ('dry', '{"rain": 0}', '7')
    """
    value = plain(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def output_of(executed: Any) -> str:
    """Return what code an agent ran gave: its prints and its last value."""
    logs = str(getattr(executed, "logs", "") or "")
    last = getattr(executed, "output", None)
    return logs if last is None else f"{logs}{as_text(last)}"


def usage_of(message: Any) -> tuple[int | None, int | None]:
    """Return the tokens a message cost, as far as the model tells."""
    usage = getattr(message, "token_usage", None)
    return getattr(usage, "input_tokens", None), getattr(usage, "output_tokens", None)


def request_of(messages: Iterable[object]) -> tuple[RequestMessage, ...]:
    """Take a snapshot of a model request."""
    return tuple(
        RequestMessage(role=_role_of(message), content=text_of(_field(message, "content")))
        for message in messages
    )


def _role_of(message: object) -> Role:
    role = _field(message, "role")
    return _ROLES.get(str(getattr(role, "value", role)), "user")


def _field(message: object, name: str) -> Any:
    return message.get(name) if isinstance(message, Mapping) else getattr(message, name, None)


def prompts_of(agent: Any) -> dict[str, str]:
    """Return the system prompts of an agent and of those it manages."""
    found: dict[str, str] = {}
    waiting = [agent]
    while waiting and len(found) < MAX_AGENTS:
        one = waiting.pop(0)
        prompt = getattr(getattr(one, "memory", None), "system_prompt", None)
        text = getattr(prompt, "system_prompt", None)
        if agent_name(one) not in found and isinstance(text, str):
            found[agent_name(one)] = text
            waiting += getattr(one, "managed_agents", {}).values()
    return found


def arguments_of(tool: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> object:
    """Return the arguments a tool is called with, by the names of its inputs."""
    if len(args) == 1 and isinstance(args[0], Mapping) and not kwargs:
        return plain(args[0])
    names = list(getattr(tool, "inputs", None) or ())
    given = dict(zip([*names, *range(len(names), len(args))], args, strict=False))
    named = {key: value for key, value in kwargs.items() if key != "sanitize_inputs_outputs"}
    return plain({**given, **named})
