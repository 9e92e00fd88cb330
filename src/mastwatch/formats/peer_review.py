"""Peer review among agents, ``--format peer-review``: a message list of each in ``trajectory``.

The agents work side by side; rows go round by round, one message of each. What stands under the
role ``user`` the program wrote: it hands over what the others said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mastwatch.events import MessageKind, Role
from mastwatch.formats import fields
from mastwatch.formats.annotated import instance
from mastwatch.formats.assembly import recorded_run
from mastwatch.formats.json_values import Value, each_run, read_each
from mastwatch.formats.recorded import Problem, Read, Where
from mastwatch.formats.rows import RowProblems, read_rows
from mastwatch.formats.source import Source
from mastwatch.formats.transcript import Row

_LISTS = "trajectory"
_ROLES: dict[str, Role] = {"assistant": "assistant", "user": "user", "system": "system"}


class PeerReviewFormat:
    """Reader of peer review runs."""

    name = "peer-review"

    def sniff(self, source: Source) -> bool:
        """Message lists with roles by agent under ``trajectory``."""
        for value in source.samples():
            for run in each_run(Value(value, Where(""))):
                for messages in (_lists(run.value) or {}).values():
                    if any(isinstance(one, dict) and "role" in one for one in messages):
                        return True
        return False

    def read(self, source: Source) -> Iterator[Read]:
        """Read all runs."""
        yield from read_each(source.values(), _read)


def _lists(value: object) -> dict[str, list[object]] | None:
    lists = value.get(_LISTS) if isinstance(value, dict) else None
    if not isinstance(lists, dict) or not all(isinstance(one, list) for one in lists.values()):
        return None
    return lists


def _read(run: Value) -> Iterator[Read]:
    lists = _lists(run.value)
    if not lists or not any(lists.values()):
        yield Problem(run.where, f"has no messages by agent under {_LISTS!r}; skipped")
        return
    assert isinstance(run.value, dict)
    record: Mapping[str, object] = run.value
    order = [
        (key, step, messages[step])
        for step in range(max(map(len, lists.values())))
        for key, messages in lists.items()
        if step < len(messages)
    ]
    problems = RowProblems(run.where)
    rows = read_rows(
        [message for _, _, message in order],
        lambda at, message: _row(at, message, f"agent_{order[at][0]}", order[at][1]),
        problems,
    )
    header, extra = instance(record, run.where, "peer review", len(rows), _LISTS)
    yield from recorded_run(run.where, PeerReviewFormat.name, header, rows, problems, extra=extra)


def _row(at: int, message: Mapping[str, object], agent: str, step: int) -> Row:
    role = _ROLES.get(fields.string(message, "role"))
    if role is None:
        raise fields.Malformed(f"'role' is none of {', '.join(_ROLES)}")
    kind: MessageKind = "reply"
    if role != "assistant":
        kind = "opener" if role == "user" and step == 0 else "system"
    return Row(
        index=at,
        agent=agent if role == "assistant" else role,
        role=role,
        text=fields.text(message.get("content")),
        kind=kind,
        recipients=() if role == "assistant" else (agent,),
        branch=agent,
    )
