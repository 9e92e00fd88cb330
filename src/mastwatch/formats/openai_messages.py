"""Plain OpenAI chat message lists: ``[{"role", "content"}, ...]`` or an object that holds one.

The list stands under ``messages``, or ``traj`` as tau-bench writes it; a file holds one such value,
one per line, or a list of them. Messages line by line are one run. Speakers are called by ``name``
where it is given, else by role.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mastwatch.events import MessageKind, Role
from mastwatch.formats import fields
from mastwatch.formats.assembly import recorded_run
from mastwatch.formats.calls import tool_calls
from mastwatch.formats.json_values import Value, each_run, read_each
from mastwatch.formats.recorded import Problem, Read, Where
from mastwatch.formats.rows import RowProblems, position_id, read_rows, record_id
from mastwatch.formats.source import Source
from mastwatch.formats.transcript import PERSONS, Header, Row

_LIST_KEYS = ("messages", "traj")
_ROLES: dict[str, Role] = {
    "assistant": "assistant",
    "user": "user",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}


class OpenAIMessagesFormat:
    """Reader of chat completion message lists, ``--format openai``."""

    name = "openai"

    def sniff(self, source: Source) -> bool:
        """Lists of objects with a role, objects that hold such a list, or a message alone."""
        for value in source.samples():
            if _is_message(value):
                return True
            for run in each_run(Value(value, Where(""))):
                messages = _messages(run.value)
                if messages and any(isinstance(m, dict) and "role" in m for m in messages):
                    return True
        return False

    def read(self, source: Source) -> Iterator[Read]:
        """Read all runs."""
        yield from read_each(_joined(source.values()), lambda run: _read(run, self.name))


def _joined(values: Iterator[Value | Problem]) -> Iterator[Value | Problem]:
    """The values, with messages that stand alone made into lists."""
    alone: list[object] = []
    where = Where("")
    for item in values:
        if isinstance(item, Value) and _is_message(item.value):
            where = where if alone else item.where
            alone.append(item.value)
            continue
        if alone and isinstance(item, Value):
            yield Value(alone, where)
            alone = []
        yield item
    if alone:
        yield Value(alone, where)


def _is_message(value: object) -> bool:
    if not isinstance(value, dict) or any(key in value for key in _LIST_KEYS):
        return False
    return (
        isinstance(value.get("role"), str)
        and value["role"] in _ROLES
        and ("content" in value or "tool_calls" in value)
    )


def _messages(value: object) -> list[object] | None:
    if isinstance(value, list):
        return value
    if isinstance(value, dict):
        return next((value[k] for k in _LIST_KEYS if isinstance(value.get(k), list)), None)
    return None


def _read(run: Value, format_name: str) -> Iterator[Read]:
    messages, where = _messages(run.value), run.where
    if messages is None:
        what = fields.kind(run.value)
        yield Problem(where, f"is {what} without a list of messages; skipped")
        return
    if not messages:
        yield Problem(where, "the run has no messages; skipped")
        return
    record = run.value if isinstance(run.value, dict) else {}
    problems = RowProblems(where)
    task_row = _task_row(messages)
    rows = read_rows(messages, lambda at, message: _row(at, message, task_row), problems)
    header = Header(
        run_id=record_id(record, where) if record else position_id(where),
        framework="openai",
        name=fields.identity(record, "model") or "chat",
        task=next((row.text for row in rows if row and row.index == task_row), None),
        rows=len(messages),
    )
    extra = {key: value for key, value in record.items() if key not in _LIST_KEYS}
    yield from recorded_run(where, format_name, header, rows, problems, extra=extra)


def _task_row(messages: list[object]) -> int:
    """The user's first message is what the run was asked to do; -1 when there is none."""
    for position, message in enumerate(messages):
        role = message.get("role") if isinstance(message, dict) else None
        if role == "user":
            return position
        if role not in ("system", "developer"):
            break
    return -1


def _row(position: int, message: Mapping[str, object], task_row: int) -> Row:
    role = _ROLES.get(fields.string(message, "role"))
    if role is None:
        raise fields.Malformed(f"'role' is none of {', '.join(_ROLES)}")
    name = fields.identity(message, "name") or ""
    text = fields.text(message.get("content"))
    if text is None:
        text = fields.text(message.get("refusal")) or ""
    result = role == "tool"
    return Row(
        index=position,
        agent=name or role,
        role=role,
        text=text,
        kind=_kind(role, name, position == task_row),
        calls=() if result else tool_calls(message),
        tool=name if result else "",
        call_id=fields.identity(message, "tool_call_id"),
        at=fields.moment(message.get("ts") or message.get("timestamp")),
        id=fields.identity(message, "id"),
    )


def _kind(role: Role, name: str, task: bool) -> MessageKind:
    if role == "user":
        if task:
            return "opener"
        # A user message under a name of its own is another agent, as AG2 histories have it.
        return "human" if not name or name.casefold() in PERSONS else "reply"
    return "system" if role == "system" else "reply"
