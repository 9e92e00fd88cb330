"""Chat dumps of AG2, ``--format ag2``: objects with ``trajectory``, as the seed study keeps them.

A message is ``content`` (text, or a list of its lines), ``role`` and ``name``. The role is as the
agent saw it whose memory was dumped, so it tells nothing of who spoke.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from mastwatch.formats import fields
from mastwatch.formats.ag2.dialogue import FRAMEWORK, Said, rows
from mastwatch.formats.annotated import instance
from mastwatch.formats.assembly import recorded_run
from mastwatch.formats.calls import tool_calls
from mastwatch.formats.json_values import Value, each_run, read_each
from mastwatch.formats.recorded import Problem, Read, Where
from mastwatch.formats.rows import RowProblems
from mastwatch.formats.source import Source

_MESSAGES = "trajectory"


class ChatDumpFormat:
    """Reader of AG2 chat dumps."""

    name = "ag2"

    def sniff(self, source: Source) -> bool:
        """Messages with a name and content under ``trajectory``."""
        return any(
            isinstance(message, dict) and {"content", "name"} <= message.keys()
            for value in source.samples()
            for run in each_run(Value(value, Where("")))
            for message in _messages(run.value)
        )

    def read(self, source: Source) -> Iterator[Read]:
        """Read all runs."""
        yield from read_each(source.values(), _read)


def said(message: Mapping[str, object]) -> list[Said]:
    """Read a message of AG2's memory; several results of tools in one are told one by one.

    Raises:
        Malformed: It cannot be used.
    """
    agent = fields.string(message, "name", "") or fields.string(message, "role", "unknown")
    if message.get("role") in ("tool", "function"):
        responses = message.get("tool_responses")
        given = responses if isinstance(responses, list) and responses else [message]
        return [_result(agent, one) for one in given if isinstance(one, dict)]
    return [Said(agent=agent, text=content(message.get("content")), calls=tool_calls(message))]


def content(value: object) -> str:
    """The text of a message: itself, its lines, or its parts; empty for null.

    Raises:
        Malformed: It is anything else.
    """
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        return "\n".join(value)
    return fields.text(value) or ""


def _result(agent: str, response: Mapping[str, object]) -> Said:
    of_function = response.get("role") == "function"
    return Said(
        agent=agent,
        text=content(response.get("content")),
        result=True,
        call_id=fields.identity(response, "tool_call_id"),
        tool=fields.string(response, "name", "") if of_function else "",
    )


def _messages(value: object) -> list[object]:
    found = value.get(_MESSAGES) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []


def _read(run: Value) -> Iterator[Read]:
    messages, where = _messages(run.value), run.where
    if not messages or not isinstance(run.value, dict):
        yield Problem(where, f"has no messages under {_MESSAGES!r}; skipped")
        return
    problems = RowProblems(where)
    told = read_messages(messages, problems)
    header, extra = instance(run.value, where, FRAMEWORK, len(told), _MESSAGES)
    if header.task is None:
        header = replace(header, task=next((one.text for one in told if one), None))
    found = list(rows(told))
    yield from recorded_run(where, ChatDumpFormat.name, header, found, problems, extra=extra)


def read_messages(messages: list[object], problems: RowProblems) -> list[Said | None]:
    """Read all messages of a chat; a broken one becomes None and a problem."""
    told: list[Said | None] = []
    for message in messages:
        try:
            if not isinstance(message, dict):
                raise fields.Malformed(f"is {fields.kind(message)}, not an object")
            told.extend(said(message))
        except (fields.Malformed, RecursionError) as error:
            why = "nested too deeply" if isinstance(error, RecursionError) else str(error)
            problems.add(len(told), f"{why}; skipped")
            told.append(None)
    return told
