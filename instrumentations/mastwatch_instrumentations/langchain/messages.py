"""Reading LangChain's messages and results; nothing of theirs is kept or changed."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import LLMResult

from mastwatch.events import RequestMessage, Role, ToolRequest
from mastwatch.interventions import SPEAKER
from mastwatch.spans.emit import HistoryMessage

MAX_DEPTH = 8
MAX_ITEMS = 200
"""Of a list or mapping in tool arguments and results that are no text."""
_ROLES: dict[str, Role] = {
    "human": "user",
    "user": "user",
    "ai": "assistant",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}
_TASK_KEYS = ("input", "task", "question", "query", "topic", "request")


def langgraph(module: str, name: str) -> Any:
    """Return a type of LangGraph if the app has imported it, else a type of nothing.

    LangGraph may be absent; where it is not loaded, no object of its types can reach us.
    """
    return getattr(sys.modules.get(f"langgraph.{module}"), name, ())


def _is_record(value: object) -> bool:
    """Whether reading a value's fields is harmless; other objects may do anything on access."""
    model = getattr(sys.modules.get("pydantic"), "BaseModel", ())
    return isinstance(value, model) or (is_dataclass(value) and not isinstance(value, type))


def text_of(message: BaseMessage) -> str:
    """Return the text of a message, blocks joined."""
    content = message.content
    if isinstance(content, str):
        return content
    parts = [block if isinstance(block, str) else block.get("text") for block in content]
    return "".join(part for part in parts if isinstance(part, str))


def plain(value: object, depth: int = 0) -> object:
    """Copy a value as plain data, so that the app may change its own afterwards.

    >>> plain({"a": (1, None), "b": {2}})
    {'a': [1, None], 'b': 'set'}
    """
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if depth < MAX_DEPTH:
        if isinstance(value, BaseMessage):
            return text_of(value)
        if isinstance(value, Mapping):
            items = list(value.items())
            copied = {str(key): plain(item, depth + 1) for key, item in items[:MAX_ITEMS]}
            return copied if len(items) <= MAX_ITEMS else {**copied, "...": len(items)}
        if isinstance(value, (list, tuple)):
            listed = [plain(item, depth + 1) for item in value[:MAX_ITEMS]]
            return listed if len(value) <= MAX_ITEMS else [*listed, f"... {len(value)}"]
        if _is_record(value):
            return plain(vars(value), depth + 1)
    return type(value).__name__


def request_of(messages: Sequence[BaseMessage]) -> tuple[RequestMessage, ...]:
    """Take a snapshot of a model request."""
    return tuple(
        RequestMessage(
            role=_ROLES.get(message.type, "user"), content=text_of(message), name=message.name or ""
        )
        for message in messages
        if message.name != SPEAKER  # a nudge of ours is said once, and no part of the history
    )


def history_of(messages: Sequence[BaseMessage]) -> list[HistoryMessage]:
    """Take the messages of a bare model call, with what ties them to earlier ones."""
    return [
        HistoryMessage(
            role=_ROLES.get(message.type, "user"),
            content=text_of(message),
            name=message.name or "",
            tool_calls=tool_requests(message) if isinstance(message, AIMessage) else (),
            call_id=message.tool_call_id if isinstance(message, ToolMessage) else None,
            failed=isinstance(message, ToolMessage) and message.status == "error",
        )
        for message in messages
        if message.name != SPEAKER
    ]


def tool_requests(message: AIMessage) -> tuple[ToolRequest, ...]:
    """Return the tool calls a message asks for, those with broken arguments included."""
    good = [
        ToolRequest(name=call["name"], arguments=plain(call["args"]), call_id=call.get("id"))
        for call in message.tool_calls
    ]
    bad = [
        ToolRequest(name=call.get("name") or "", arguments=call.get("args"), call_id=call.get("id"))
        for call in message.invalid_tool_calls
    ]
    return (*good, *bad)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model call gave."""

    text: str
    message_id: str | None = None
    tool_calls: tuple[ToolRequest, ...] = ()
    input_tokens: int | None = None
    output_tokens: int | None = None


def answer_of(result: LLMResult) -> Answer:
    """Read a model's answer: its first choice and the usage."""
    generation = next((item for group in result.generations for item in group), None)
    message = getattr(generation, "message", None)
    legacy = (result.llm_output or {}).get("token_usage") or {}
    if not isinstance(message, AIMessage):
        text = str(getattr(generation, "text", ""))
        return Answer(text, None, (), legacy.get("prompt_tokens"), legacy.get("completion_tokens"))
    usage: Mapping[str, Any] = message.usage_metadata or {}
    return Answer(
        text_of(message),
        message.id,
        tool_requests(message),
        usage.get("input_tokens", legacy.get("prompt_tokens")),
        usage.get("output_tokens", legacy.get("completion_tokens")),
    )


def task_of(inputs: object) -> str | None:
    """Return what a run is asked to do: the last thing a person said in its input."""
    if isinstance(inputs, str):
        return inputs
    if isinstance(inputs, BaseMessage):
        return text_of(inputs)
    listed = inputs if isinstance(inputs, (list, tuple)) else _field(inputs, "messages")
    if isinstance(listed, (list, tuple)):
        said = (_said_by_person(item) for item in reversed(listed))
        return next((text for text in said if text is not None), None)
    if listed is not None:
        return _said_by_person(listed)
    values = (_field(inputs, key) for key in _TASK_KEYS)
    return next((value for value in values if isinstance(value, str)), None)


def _said_by_person(item: object) -> str | None:
    if isinstance(item, HumanMessage):
        return text_of(item)
    if isinstance(item, str):
        return item
    if isinstance(item, tuple) and len(item) == 2 and item[0] in ("user", "human"):
        return item[1] if isinstance(item[1], str) else None
    if isinstance(item, Mapping) and item.get("role", item.get("type")) in ("user", "human"):
        content = item.get("content")
        return content if isinstance(content, str) else None
    return None


def _field(state: object, key: str) -> object:
    if isinstance(state, Mapping):
        return state.get(key)
    return getattr(state, key, None) if _is_record(state) else None


def messages_in(value: object, depth: int = 0) -> Iterator[BaseMessage]:
    """Yield the messages in a node's input or output: state, update, Command or list of them."""
    if isinstance(value, BaseMessage):
        yield value
    elif depth > 3:
        return
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from messages_in(item, depth + 1)
    elif isinstance(value, (list, tuple)):
        # A long list of something else (numbers, documents) is not worth the walk.
        if value and not isinstance(value[0], (str, int, float, bytes)):
            for item in value:
                yield from messages_in(item, depth + 1)
    elif isinstance(value, langgraph("types", "Command")):
        yield from messages_in(value.update, depth + 1)
    elif _is_record(value):
        yield from messages_in(getattr(value, "messages", None), depth + 1)


def key_of(message: BaseMessage) -> object:
    """Tell a message from others for as long as a node runs; its id may not be set yet."""
    return message.id or id(message)


@dataclass(frozen=True, slots=True)
class Written:
    """What a node wrote that was not in its input."""

    said: tuple[AIMessage, ...] = ()
    results: tuple[ToolMessage, ...] = ()


def written(outputs: object, known: frozenset[object]) -> Written:
    """Pick what is new in a node's output.

    A list that holds new words of a person or a system prompt as well is a history that the node
    loaded or rewrote: nobody says these things now.
    """
    new = [message for message in messages_in(outputs) if key_of(message) not in known]
    results = tuple(message for message in new if isinstance(message, ToolMessage))
    if any(isinstance(message, (HumanMessage, SystemMessage)) for message in new):
        return Written((), results)
    said = (message for message in new if isinstance(message, AIMessage))
    return Written(tuple(message for message in said if not by_framework(message)), results)


def by_framework(message: BaseMessage) -> bool:
    """Whether a framework wrote it: "Transferring back to supervisor" of langgraph-supervisor."""
    return bool(message.response_metadata.get("__is_handoff_back"))


def gotos(value: object) -> list[str]:
    """Return the nodes that a Command (or a list with Commands or Sends) sends control to."""
    if isinstance(value, langgraph("types", "Command")):
        goto = value.goto
        return gotos(goto) if isinstance(goto, (list, tuple)) else [_target(goto)]
    if isinstance(value, (list, tuple)):
        names: list[str] = []
        for item in value:
            if isinstance(item, langgraph("types", "Command")):
                names += gotos(item)
            elif isinstance(item, (str, langgraph("types", "Send") or str)):
                names.append(_target(item))
        return names
    return []


def _target(goto: object) -> str:
    return goto if isinstance(goto, str) else str(getattr(goto, "node", ""))


def fanned_out(value: object) -> set[str]:
    """Return the nodes that several Sends of one output go to: parallel workers."""
    if isinstance(value, langgraph("types", "Command")):
        value = value.goto
    if not isinstance(value, (list, tuple)):
        return set()
    sends = [item.node for item in value if isinstance(item, langgraph("types", "Send"))]
    return {node for node in sends if sends.count(node) > 1}
