"""Reading the SDK's items; nothing of theirs is kept or changed.

An item is a record of the OpenAI Responses API: a typed object in what a model answers, a mapping
in what it is sent.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mastwatch.events import RequestMessage, Role, ToolRequest

MAX_AGENTS = 50
"""Agents whose prompts are looked up at a run's start, from the first one along the hand-offs."""
_ROLES: dict[str, Role] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
}
_LOCAL = frozenset({"computer_call", "local_shell_call", "shell_call", "apply_patch_call"})
"""Tools of the SDK's own that the app's process runs."""
_HOSTED = frozenset(
    {
        "web_search_call",
        "file_search_call",
        "code_interpreter_call",
        "image_generation_call",
        "mcp_call",
    }
)
"""Tools that have run, at the provider, by the time the model's answer is here."""
_INPUTS = ("arguments", "input", "action", "operation", "queries", "code")
_RESULTS = ("output", "results", "outputs")
_FAILED = ("An error occurred while running the tool", "Tool '")


def field(item: object, name: str) -> Any:
    """Read a field of a typed or a plain item; None where it has none."""
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)


def plain(value: object) -> object:
    """Copy a value as plain data, so that the app may change its own afterwards."""
    dump = getattr(value, "model_dump", None)
    if dump is not None:
        value = dump(exclude_none=True)
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    try:
        return json.loads(json.dumps(value, default=str))
    except (TypeError, ValueError):
        return type(value).__name__


def parsed(arguments: object) -> object:
    """Return arguments parsed where they are JSON, else as they are.

    >>> parsed('{"city": "Ulm"}'), parsed("{broken"), parsed("")
    ({'city': 'Ulm'}, '{broken', {})
    """
    if not isinstance(arguments, str):
        return plain(arguments)
    try:
        return json.loads(arguments) if arguments else {}
    except ValueError:
        return arguments


def as_text(value: object) -> str:
    """Return a tool's result as text, as the model gets it.

    >>> as_text("dry"), as_text({"rain": 0})
    ('dry', '{"rain": 0}')
    """
    value = plain(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def text_of(content: object) -> str:
    """Join the texts of a message's content, refusals included."""
    if isinstance(content, str):
        return content
    if not isinstance(content, Iterable):
        return ""
    texts = (field(part, "text") or field(part, "refusal") for part in content)
    return "".join(text for text in texts if isinstance(text, str))


def tool_error(result: str) -> str | None:
    """Tell by the SDK's own words whether a tool failed: it returns them in the result's place.

    >>> tool_error("An error occurred while running the tool. Please try again. Error: full")
    'ToolError'
    >>> tool_error("Tool 'look' timed out after 2 seconds."), tool_error("fine")
    ('ToolTimeoutError', None)
    """
    if result.startswith(_FAILED[0]):
        return "ToolError"
    if result.startswith(_FAILED[1]) and " timed out after " in result:
        return "ToolTimeoutError"
    return None


@dataclass(frozen=True, slots=True)
class Hosted:
    """A tool call that the provider made, with what came of it."""

    request: ToolRequest
    result: str
    error: str | None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model said: its words, the calls it leaves to the app, those made already."""

    text: str
    calls: tuple[ToolRequest, ...] = ()
    hosted: tuple[Hosted, ...] = ()
    input_tokens: int | None = None
    output_tokens: int | None = None

    @property
    def requests(self) -> tuple[ToolRequest, ...]:
        """All its tool calls."""
        return (*(hosted.request for hosted in self.hosted), *self.calls)


def answer_of(items: Iterable[object], usage: object = None) -> Answer:
    """Read the items a model answered with."""
    listed = list(items)
    hosted = tuple(made for item in listed if (made := _hosted_of(item)) is not None)
    texts = [text_of(field(i, "content")) for i in listed if field(i, "type") == "message"]
    return Answer(
        text="\n".join(text for text in texts if text),
        calls=tuple(call for item in listed if (call := _call_of(item)) is not None),
        hosted=hosted,
        input_tokens=field(usage, "input_tokens"),
        output_tokens=field(usage, "output_tokens"),
    )


def _call_of(item: object) -> ToolRequest | None:
    kind = str(field(item, "type") or "")
    call_id = field(item, "call_id") or field(item, "id")
    if kind in ("function_call", "custom_tool_call"):
        name = str(field(item, "name") or "")
        return ToolRequest(name=name, arguments=_input_of(item), call_id=call_id)
    if kind in _LOCAL:
        name = kind.removesuffix("_call")
        return ToolRequest(name=name, arguments=_input_of(item), call_id=call_id)
    return None


def _hosted_of(item: object) -> Hosted | None:
    kind = str(field(item, "type") or "")
    if kind not in _HOSTED:
        return None
    name = str(field(item, "name") or kind.removesuffix("_call"))
    request = ToolRequest(name=name, arguments=_input_of(item), call_id=field(item, "id"))
    result = next((value for key in _RESULTS if (value := field(item, key)) is not None), "")
    failed = field(item, "error") is not None or field(item, "status") == "failed"
    return Hosted(request, as_text(result), "ToolError" if failed else None)


def _input_of(item: object) -> object:
    given = next((value for key in _INPUTS if (value := field(item, key)) is not None), None)
    return parsed(given)


def request_of(system: object, given: object) -> tuple[RequestMessage, ...]:
    """Take a snapshot of a model request."""
    head = [RequestMessage(role="system", content=system)] if isinstance(system, str) else []
    if isinstance(given, str):
        return (*head, RequestMessage(role="user", content=given))
    items = given if isinstance(given, (list, tuple)) else ()
    return (*head, *(said for item in items if (said := _request_item(item)) is not None))


def _request_item(item: object) -> RequestMessage | None:
    kind = str(field(item, "type") or "message")
    if kind == "message":
        role = _ROLES.get(str(field(item, "role")), "user")
        return RequestMessage(role=role, content=text_of(field(item, "content")))
    if kind.endswith("_call"):
        return RequestMessage(role="assistant", content="")
    if kind.endswith("_output"):
        return RequestMessage(role="tool", content=as_text(field(item, "output")))
    return None  # reasoning, references


def task_of(given: object) -> str | None:
    """Return what a run is asked to do: the last thing a person said in its input."""
    if isinstance(given, str):
        return given
    if not isinstance(given, (list, tuple)):
        return None
    said = (i for i in reversed(given) if field(i, "role") == "user")
    return next((text_of(field(item, "content")) for item in said), None)


def prompts_of(agent: object) -> dict[str, str]:
    """Return the fixed instructions of an agent and of those it can hand off to."""
    found: dict[str, str] = {}
    waiting, seen = [agent], {id(agent)}
    while waiting and len(seen) <= MAX_AGENTS:
        one = waiting.pop(0)
        instructions = getattr(one, "instructions", None)
        if isinstance(instructions, str):
            found[str(getattr(one, "name", ""))] = instructions
        for other in getattr(one, "handoffs", ()):
            if hasattr(other, "instructions") and id(other) not in seen:
                seen.add(id(other))
                waiting.append(other)
    return found
