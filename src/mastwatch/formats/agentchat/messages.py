"""AgentChat's messages as JSON, ``--format autogen``: ``{"source", "content", "type"}``.

A list of them, a ``TaskResult`` (``messages`` and ``stop_reason``), or one message per line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mastwatch.events import ToolRequest
from mastwatch.formats import fields
from mastwatch.formats.agentchat.items import Item, Result, Transcript, how_ended
from mastwatch.formats.assembly import recorded_run
from mastwatch.formats.json_values import Value
from mastwatch.formats.recorded import Problem, Read, Where
from mastwatch.formats.rows import RowProblems, position_id
from mastwatch.formats.source import Source
from mastwatch.formats.transcript import Header

_CHUNK = "ModelClientStreamingChunkEvent"
_MESSAGES, _STOP = "messages", "stop_reason"


class MessagesFormat:
    """Reader of AgentChat's messages and task results."""

    name = "autogen"

    def sniff(self, source: Source) -> bool:
        """Objects with a source and a type that ends as AgentChat's classes do."""
        for value in source.samples():
            if _is_message(value):
                return True
            for run in _runs(Value(value, Where(""))):
                if any(_is_message(message) for message in _messages(run.value) or ()):
                    return True
        return False

    def read(self, source: Source) -> Iterator[Read]:
        """Read all runs; messages line by line are one run, up to a task result."""
        loose: list[object] = []
        where = Where(source.name, None, 1)
        for item in source.values():
            if isinstance(item, Problem):
                yield item
            elif _is_message(item.value):
                where = where if loose else item.where
                loose.append(item.value)
            else:
                for run in _runs(item):
                    if loose and not _repeats(run.value, loose):
                        yield from _read(Value(loose, where))
                    loose = []
                    yield from _read(run)
        if loose:
            yield from _read(Value(loose, where))


def _is_message(value: object) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("source"), str)
        and "content" in value
        and str(value.get("type", "")).endswith(("Message", "Event"))
    )


def _messages(value: object) -> list[object] | None:
    if isinstance(value, dict):
        value = value.get(_MESSAGES)
    return value if isinstance(value, list) else None


def _runs(item: Value) -> Iterator[Value]:
    """The task results or message lists in a value."""
    value = item.value
    if not isinstance(value, list) or any(_is_message(one) for one in value):
        yield item
        return
    for number, one in enumerate(value, 1):
        yield Value(one, Where(item.where.file, item.where.line, number))


def _repeats(value: object, loose: list[object]) -> bool:
    """Whether a task result tells once more what stood line by line before it."""
    return isinstance(value, dict) and len(_messages(value) or ()) == len(loose)


def _read(run: Value) -> Iterator[Read]:
    messages, where = _messages(run.value), run.where
    if not messages:
        what = "has no messages" if messages == [] else f"is {fields.kind(run.value)}, not a run"
        yield Problem(where, f"{what}; skipped")
        return
    record: Mapping[str, object] = run.value if isinstance(run.value, dict) else {}
    problems = RowProblems(where)
    transcript = Transcript()
    for position, message in enumerate(messages):
        try:
            item = _item(message)
        except (fields.Malformed, RecursionError) as error:
            problems.add(position, f"{error or 'nested too deeply'}; skipped")
            transcript.rows.append(None)
        else:
            if item.kind != _CHUNK:  # the message itself follows, whole
                transcript.add(item)
    reason = record.get(_STOP)
    reason = reason if isinstance(reason, str) else ""
    header = Header(
        run_id=position_id(where),
        name="AgentChat",
        framework="autogen",
        task=transcript.task,
        rows=len(transcript.rows),
        ended=how_ended(reason) if _STOP in record else None,
        reason=reason,
    )
    yield from recorded_run(
        where,
        MessagesFormat.name,
        header,
        transcript.rows,
        problems,
        extra={key: value for key, value in record.items() if key != _MESSAGES},
        thoughts=transcript.thoughts,
    )


def _item(message: object) -> Item:
    if not isinstance(message, dict):
        raise fields.Malformed(f"is {fields.kind(message)}, not an object")
    kind, content = fields.string(message, "type", ""), message.get("content")
    calls: tuple[ToolRequest, ...] = ()
    results: tuple[Result, ...] = ()
    if kind == "ToolCallRequestEvent":
        calls = tuple(_call(one) for one in _objects(content))
    elif kind == "ToolCallExecutionEvent":
        results = tuple(_result(one) for one in _objects(content))
    return Item(
        source=fields.string(message, "source"),
        kind=kind,
        text=None if calls or results else _text(message, kind),
        calls=calls,
        results=results,
        target=fields.string(message, "target", ""),
        at=fields.moment(message.get("created_at")),
        id=fields.identity(message, "id"),
    )


def _text(message: Mapping[str, object], kind: str) -> str | None:
    content = message.get("content")
    if kind == "CodeExecutionEvent" and isinstance(message.get("result"), dict):
        content = message["result"].get("output")  # type: ignore[attr-defined]
    # A structured message has its fields in place of text.
    return str(content) if isinstance(content, dict) else fields.text(content)


def _objects(content: object) -> list[Mapping[str, object]]:
    if not isinstance(content, list) or not all(isinstance(one, dict) for one in content):
        raise fields.Malformed("'content' is no list of tool calls or results")
    return content


def _call(one: Mapping[str, object]) -> ToolRequest:
    return ToolRequest(
        name=fields.string(one, "name"),
        arguments=fields.arguments(one.get("arguments")),
        call_id=fields.identity(one, "id"),
    )


def _result(one: Mapping[str, object]) -> Result:
    return Result(
        text=fields.text(one.get("content")),
        tool=fields.string(one, "name", ""),
        call_id=fields.identity(one, "call_id"),
        failed=one.get("is_error") is True,
    )
