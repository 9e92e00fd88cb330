"""Our own record: one JSON object per run with ``id``, ``framework``, ``task`` and ``messages``.

A message has ``index``, ``agent``, ``role``, ``content`` and may have ``tool_calls``,
``tool_name``, ``kind``, ``to``, ``thread``, ``ts``, ``id``; a record may have ``requests``, the
model requests by the row they came before. Rows of kind ``thought`` are private: no event, their
index stays. A record that has ``events`` is told by them, its rows are for those who look.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mastwatch.formats import fields
from mastwatch.formats.assembly import recorded_run
from mastwatch.formats.json_values import Value, each_run, read_each
from mastwatch.formats.record_head import events, header, requests
from mastwatch.formats.record_rows import Rows
from mastwatch.formats.recorded import Problem, Read, RecordedRun, Where
from mastwatch.formats.rows import RowProblems, read_rows
from mastwatch.formats.source import Source

_MESSAGES, _REQUESTS, _EVENTS = "messages", "requests", "events"
_HEAD = (
    "id",
    "framework",
    "name",
    "task",
    "prompts",
    "contract",
    "outcome",
    "reason",
    "rows",
)
OWN = frozenset((*_HEAD, _MESSAGES, _REQUESTS, _EVENTS))
"""Keys with a meaning here; all others are what else the log says."""


class RecordFormat:
    """Reader of our own record, ``--format record``."""

    name = "record"

    def sniff(self, source: Source) -> bool:
        """Objects with ``messages`` whose rows name an agent."""
        return any(_looks_like(run.value) for v in source.samples() for run in _runs(v))

    def read(self, source: Source) -> Iterator[Read]:
        """Read all runs."""
        yield from read_each(source.values(), lambda run: _read(run, self.name))


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
    if not messages and _EVENTS not in record:
        yield Problem(where, "the run has no messages; skipped")
        return
    yield from _told(record, messages, where, format_name)


def _told(
    record: Mapping[str, object], messages: list[object], where: Where, format_name: str
) -> Iterator[Read]:
    problems = RowProblems(where)
    head = header(record, where, len(messages))
    reader = Rows(head, problems.indices(messages))
    rows = read_rows(messages, reader.row, problems)
    beside = (_MESSAGES, _REQUESTS, _EVENTS)
    extra = {key: value for key, value in record.items() if key not in beside}
    itself = events(record, head.run_id, problems)
    if itself is None:
        calls = requests(record, head.run_id, problems)
        yield from recorded_run(
            where,
            format_name,
            head,
            rows,
            problems,
            extra=extra,
            thoughts=reader.thoughts,
            model_calls=calls,
        )
        return
    # What is wrong with rows that nothing is read from is no problem.
    yield RecordedRun(
        id=head.run_id,
        where=where,
        format=format_name,
        framework=head.framework,
        events=itself,
        messages=head.rows,
        extra=extra,
        thoughts=tuple(reader.thoughts),
    )
