"""LangChain's message lists, ``--format langchain``.

Messages stand as ``messages_to_dict`` writes them (``{"type": "human", "data": {...}}``), as
``dumpd`` does (``{"lc": 1, "type": "constructor", "kwargs": {...}}``), or plainly
(``{"type": "human", "content": ...}``); in a list, or under ``messages`` of an agent's result or a
graph's state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mastwatch.events import MessageKind, Role, ToolRequest
from mastwatch.formats import fields
from mastwatch.formats.assembly import recorded_run
from mastwatch.formats.calls import tool_calls
from mastwatch.formats.json_values import Value, read_each
from mastwatch.formats.recorded import Problem, Read, Where
from mastwatch.formats.rows import RowProblems, read_rows, record_id
from mastwatch.formats.source import Source
from mastwatch.formats.transcript import Header, Row

_TYPES: dict[str, Role] = {
    "human": "user",
    "ai": "assistant",
    "aimessagechunk": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}
_AROUND = ("values", "output", "outputs", "result", "state", "channel_values")
_MESSAGES = "messages"


class LangChainFormat:
    """Reader of LangChain message lists."""

    name = "langchain"

    def sniff(self, source: Source) -> bool:
        """Messages told by their ``type`` or their constructor."""
        return any(
            any(_type(message) in _TYPES for message in _messages(run.value) or ())
            for value in source.samples()
            for run in _runs(Value(value, Where("")))
        )

    def read(self, source: Source) -> Iterator[Read]:
        """Read all runs."""
        yield from read_each(source.values(), _read, _runs)


def _inner(message: object) -> Mapping[str, object] | None:
    """A message without what its writer put around it."""
    if not isinstance(message, dict):
        return None
    for key in ("kwargs", "data"):
        if isinstance(message.get(key), dict):
            return {**message[key], "type": message[key].get("type") or _class(message)}
    return message if "content" in message and "role" not in message else None


def _class(message: Mapping[str, object]) -> str:
    """``human`` of ``HumanMessage``, the last part of a constructor's id; else the type."""
    path = message.get("id")
    if message.get("type") == "constructor" and isinstance(path, list) and path:
        return str(path[-1]).removesuffix("Message").removesuffix("MessageChunk").lower()
    return str(message.get("type") or "")


def _type(message: object) -> str:
    inner = _inner(message)
    return str(inner.get("type") or "").lower() if inner is not None else ""


def _messages(value: object, depth: int = 0) -> list[object] | None:
    if isinstance(value, list):
        return value
    if not isinstance(value, dict) or depth > 2:
        return None
    if isinstance(value.get(_MESSAGES), list):
        return value[_MESSAGES]  # type: ignore[no-any-return]
    around = (
        _messages(value[key], depth + 1) for key in _AROUND if isinstance(value.get(key), dict)
    )
    return next((found for found in around if found is not None), None)


def _runs(item: Value) -> Iterator[Value]:
    """The runs of a value: itself, or the elements where it is a list of runs."""
    value = item.value
    if not isinstance(value, list) or any(_type(one) in _TYPES for one in value):
        yield item
        return
    for number, one in enumerate(value, 1):
        yield Value(one, Where(item.where.file, item.where.line, number))


def _read(run: Value) -> Iterator[Read]:
    messages, where = _messages(run.value), run.where
    if not messages:
        what = "has no messages" if messages == [] else f"is {fields.kind(run.value)}, not a run"
        yield Problem(where, f"{what}; skipped")
        return
    record: Mapping[str, object] = run.value if isinstance(run.value, dict) else {}
    problems = RowProblems(where)
    speakers = _Speakers(messages)
    rows = read_rows(messages, speakers.row, problems)
    header = Header(
        run_id=record_id(record, where),
        name="LangChain",
        framework="langchain",
        task=next((row.text for row in rows if row and row.kind == "opener"), None),
        rows=len(messages),
    )
    extra = {key: value for key, value in record.items() if key not in (_MESSAGES, *_AROUND)}
    yield from recorded_run(where, LangChainFormat.name, header, rows, problems, extra=extra)


class _Speakers:
    """Reads the messages of one list; knows whether somebody has spoken."""

    def __init__(self, messages: list[object]) -> None:
        types = [_type(message) for message in messages]
        self._task = next((at for at, told in enumerate(types) if told != "system"), -1)

    def row(self, position: int, message: Mapping[str, object]) -> Row:
        """Check one message.

        Raises:
            Malformed: It cannot be used.
        """
        inner = _inner(message)
        role = _TYPES.get(_type(message))
        if inner is None or role is None:
            raise fields.Malformed(f"is no message of type {', '.join(_TYPES)}")
        name = fields.identity(inner, "name") or ""
        result = role == "tool"
        text = fields.text(inner.get("content"))
        return Row(
            index=position,
            agent=name or role,
            role=role,
            text="" if text is None else text,
            kind=_kind(role, name, position == self._task),
            calls=() if result else _calls(inner),
            tool=name if result else "",
            call_id=fields.identity(inner, "tool_call_id"),
            error="ToolError" if result and inner.get("status") == "error" else None,
            id=fields.identity(inner, "id"),
        )


def _kind(role: Role, name: str, first: bool) -> MessageKind:
    if role == "user":
        # Under a name it is another agent, as supervisors hand on what their workers said.
        return "opener" if first else "reply" if name else "human"
    return "system" if role == "system" else "reply"


def _calls(inner: Mapping[str, object]) -> tuple[ToolRequest, ...]:
    listed = inner.get("tool_calls")
    if isinstance(listed, list) and listed:
        return tuple(_call(one) for one in listed)
    given = inner.get("additional_kwargs")
    return tool_calls(given) if isinstance(given, dict) else ()


def _call(one: object) -> ToolRequest:
    if not isinstance(one, dict):
        raise fields.Malformed(f"a tool call is {fields.kind(one)}, not an object")
    return ToolRequest(
        name=fields.string(one, "name"),
        arguments=fields.arguments(one.get("args")),
        call_id=fields.identity(one, "id"),
    )
