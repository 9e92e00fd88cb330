"""Our own record: one JSON object per run with ``id``, ``framework``, ``task`` and ``messages``.

A message has ``index``, ``agent``, ``role``, ``content`` and may have ``tool_calls``,
``tool_name``, ``kind``, ``to``, ``thread``, ``ts``, ``id``; a record may have ``requests``, the
model requests by the row they came before. Rows of kind ``thought`` are private: no event, their
index stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import get_args

from mastwatch.events import (
    Contract,
    MessageKind,
    ModelCalled,
    RequestMessage,
    Role,
)
from mastwatch.formats import fields
from mastwatch.formats.calls import tool_calls
from mastwatch.formats.json_values import Value, each_run
from mastwatch.formats.recorded import Problem, Read, RecordedRun, Thought, Where
from mastwatch.formats.rows import RowProblems, all_broken, read_rows, record_id
from mastwatch.formats.source import Source
from mastwatch.formats.transcript import PERSONS, Header, Row, events

_KINDS: dict[str, MessageKind] = {
    **{kind: kind for kind in get_args(MessageKind)},
    "phase_prompt": "system",
    "termination condition": "system",
}
_ROLES: dict[str, Role] = {role: role for role in get_args(Role)}
_THOUGHT = "thought"
_NO_TEXT = "no_text_logged"
_MESSAGES = "messages"


class RecordFormat:
    """Reader of our own record, ``--format record``."""

    name = "record"

    def sniff(self, source: Source) -> bool:
        """Objects with ``messages`` whose rows name an agent."""
        return any(_looks_like(run.value) for v in source.samples() for run in _runs(v))

    def read(self, source: Source) -> Iterator[Read]:
        """Read all runs."""
        for item in source.values():
            if isinstance(item, Problem):
                yield item
                continue
            for run in each_run(item):
                yield from _read(run, self.name)


def read_record(record: object, where: Where | None = None) -> Iterator[Read]:
    """Read one record that is parsed already: the run, and what is wrong with it.

    >>> rows = [{"index": 0, "agent": "Planner", "role": "assistant", "content": "Begin."}]
    >>> [item.id for item in read_record({"id": "run-1", "messages": rows})]
    ['run-1']
    """
    yield from _read(Value(record, where or Where("<record>")), RecordFormat.name)


def _runs(value: object) -> Iterator[Value]:
    return each_run(Value(value, Where("")))


def _looks_like(value: object) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get(_MESSAGES), list):
        return False
    rows = [row for row in value[_MESSAGES] if isinstance(row, dict)]
    return any("agent" in row for row in rows) or (not rows and "framework" in value)


def _read(run: Value, format_name: str) -> Iterator[Read]:
    record, where = run.value, run.where
    if not isinstance(record, dict):
        yield Problem(where, f"is {fields.kind(record)}, not a run (an object); skipped")
        return
    messages = record.get(_MESSAGES)
    if not isinstance(messages, list):
        what = fields.kind(messages) if _MESSAGES in record else "missing"
        yield Problem(where, f"{_MESSAGES!r} is {what}, not a list; the run is skipped")
        return
    if not messages:
        yield Problem(where, "the run has no messages; skipped")
        return
    problems = RowProblems(where)
    header = _header(record, where, len(messages))
    indices = problems.indices(messages)
    reader = _Rows(header, indices)
    rows = read_rows(messages, reader.row, problems)
    broken = all_broken(rows, problems)
    calls = _requests(record, header.run_id, problems)
    yield from problems.found()
    if broken:
        return
    yield RecordedRun(
        id=header.run_id,
        where=where,
        format=format_name,
        framework=header.framework,
        events=tuple(events(header, rows, calls)),
        messages=len(messages),
        extra={key: value for key, value in record.items() if key not in (_MESSAGES, "requests")},
        thoughts=tuple(reader.thoughts),
    )


def _header(record: Mapping[str, object], where: Where, rows: int) -> Header:
    labels = record.get("labels")
    cap = fields.whole(labels.get("turn_cap")) if isinstance(labels, dict) else None
    task = record.get("task")
    framework = fields.identity(record, "framework") or ""
    return Header(
        run_id=record_id(record, where),
        name=fields.identity(record, "name") or framework,
        framework=framework,
        task=task if isinstance(task, str) else None,
        contract=Contract(max_messages=cap, source="labels.turn_cap") if cap else Contract(),
        rows=rows,
    )


class _Rows:
    """Reads the rows of one run; knows which of them opened a conversation."""

    def __init__(self, header: Header, indices: list[int]) -> None:
        self._task = _folded(header.task or "")
        self._indices = indices
        framework = header.framework.casefold()
        # Their ``user`` rows are proxies: programs that speak for nobody.
        self._proxies = "ag2" in framework or "autogen" in framework
        # Message 0 of a CaptainAgent log is the manager's task, under an expert's name.
        self._captain = framework.startswith("captainagent")
        self._begun: set[str] = set()
        self.thoughts: list[Thought] = []

    def row(self, position: int, message: Mapping[str, object]) -> Row | None:
        """Check one message; None for a thought.

        Raises:
            Malformed: It cannot be used.
        """
        told = message.get("kind")
        told = told if isinstance(told, str) else ""
        if told == _THOUGHT:
            agent, text = fields.string(message, "agent"), fields.text(message.get("content"))
            self.thoughts.append(Thought(self._indices[position], agent, text))
            return None
        role = _ROLES.get(fields.string(message, "role"))
        if role is None:
            raise fields.Malformed(f"'role' is none of {', '.join(_ROLES)}")
        agent = fields.string(message, "agent")
        text = None if told == _NO_TEXT else fields.text(message.get("content"))
        branch = fields.identity(message, "branch") or fields.identity(message, "thread") or ""
        calls = tool_calls(message)
        return Row(
            index=self._indices[position],
            agent=agent,
            role=role,
            text="" if text is None and calls else text,
            kind=_KINDS.get(told) or self._kind(role, agent, text, branch),
            recipients=_recipients(message, told),
            calls=calls,
            tool=fields.identity(message, "tool_name") or "",
            call_id=fields.identity(message, "tool_call_id"),
            error=fields.identity(message, "error"),
            at=fields.moment(message.get("ts")),
            id=fields.identity(message, "id"),
            branch=branch,
        )

    def _kind(self, role: Role, agent: str, text: str | None, branch: str) -> MessageKind:
        if role in ("system", "tool"):
            return "system" if role == "system" else "reply"
        first = branch not in self._begun
        self._begun.add(branch)
        if first and self._opens(role, text):
            return "opener"
        if role == "user" and agent.casefold() in PERSONS and not self._proxies:
            return "human"
        return "reply"

    def _opens(self, role: Role, text: str | None) -> bool:
        if role == "assistant":
            return self._captain
        return bool(self._task) and self._task in _folded(text or "")


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _recipients(message: Mapping[str, object], told: str) -> tuple[str, ...]:
    to = message.get("to")
    names = to if isinstance(to, list) else [to]
    if to is None and told.startswith("->"):
        names = [told[2:].strip()]
    return tuple(name for name in names if isinstance(name, str) and name)


def _requests(
    record: Mapping[str, object], run_id: str, problems: RowProblems
) -> dict[int, list[ModelCalled]]:
    calls: dict[int, list[ModelCalled]] = {}
    requests = record.get("requests", [])
    if not isinstance(requests, list):
        problems.add(None, f"'requests' is {fields.kind(requests)}, not a list; left out")
        return calls
    for number, request in enumerate(requests):
        try:
            before, call = _model_call(request, run_id)
        except (fields.Malformed, RecursionError) as error:
            problems.add(None, f"request {number}: {error}; left out")
        else:
            calls.setdefault(before, []).append(call)
    return calls


def _model_call(request: object, run_id: str) -> tuple[int, ModelCalled]:
    if not isinstance(request, dict):
        raise fields.Malformed(f"is {fields.kind(request)}, not an object")
    before = fields.whole(request.get("before"))
    messages = request.get("messages")
    if before is None or not isinstance(messages, list):
        raise fields.Malformed("needs 'before' (a row number) and 'messages' (a list)")
    return before, ModelCalled(
        run_id=run_id,
        at=fields.moment(request.get("ts")),
        id=fields.identity(request, "id"),
        branch=fields.identity(request, "branch") or fields.identity(request, "thread") or "",
        index=before - 1,
        agent=fields.string(request, "agent", ""),
        model=fields.string(request, "model", ""),
        request=tuple(_request_message(message) for message in messages),
    )


def _request_message(message: object) -> RequestMessage:
    if not isinstance(message, dict):
        raise fields.Malformed(f"a message is {fields.kind(message)}, not an object")
    return RequestMessage(
        role=_ROLES.get(fields.string(message, "role", "user"), "user"),
        content=fields.text(message.get("content")),
        name=fields.identity(message, "name") or fields.identity(message, "agent") or "",
    )
