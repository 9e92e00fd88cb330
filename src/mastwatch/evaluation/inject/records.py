"""Runs as an injector sees them: steps that belong together, who speaks, and a new record out."""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from mastwatch.evaluation.inject.edit import length
from mastwatch.evaluation.inject.language import language
from mastwatch.formats.transcript import PERSONS

Record: TypeAlias = dict[str, Any]
"""A run: see docs/record-format.md."""
Message: TypeAlias = dict[str, Any]
"""A row of it."""
Step: TypeAlias = list[Message]
"""Rows that belong together: one message, or one with tool calls and their results."""

_EPOCH = 1_700_000_000.0
_SECONDS_PER_ROW = 2.0
_STOPS = re.compile(r"^\W*(?:TERMINATE|STOP|EXIT)\W*$")
_WRITES = frozenset(
    {
        "add", "append", "apply", "approve", "assign", "book", "buy", "cancel", "change", "create",
        "delete", "deploy", "edit", "exchange", "insert", "modify", "move", "order", "pay", "post",
        "publish", "rename", "replace", "reset", "return", "save", "send", "set", "submit",
        "transfer", "update", "upload", "write",
    }
)  # fmt: skip


@dataclass(frozen=True)
class Planted:
    """What an injector made of a host.

    The rows of the host stay the objects they were; inserted ones are copies (``again``) or new.
    Onset and earliest are told by row, so that an injector never counts.

    Attributes:
        rows: All rows of the new run, in order.
        onset: First faulty row. None stands before the first.
        earliest: First row at which a rule could be sure of the fault.
        control: A harmless twin that must not be flagged at warn.
        target: The fault is plain enough to be found every time; else its recall is only reported.
        labels: Added to the host's labels.
        requests: Model requests, ``before`` as a position in ``rows``. None keeps the host's.
    """

    rows: Sequence[Message]
    onset: Message | None
    earliest: Message | None
    control: bool = False
    target: bool = True
    labels: Mapping[str, Any] = field(default_factory=dict)
    requests: Sequence[Mapping[str, Any]] | None = None


class Host:
    """A healthy run, with what injectors ask about it.

    Attributes:
        record: The run; never changed.
        rows: Its messages.
        sisters: Other runs of the same problem.

    >>> rows = [{"agent": "bot", "role": "assistant", "content": "Which one?"}]
    >>> host = Host({"id": "run-1", "messages": rows})
    >>> host.lead, host.language, len(host.steps)
    ('bot', 'en', 1)
    """

    def __init__(self, record: Record, sisters: Sequence[Record] = ()) -> None:
        self.record = record
        self.rows: list[Message] = record["messages"]
        self.sisters = sisters

    @cached_property
    def steps(self) -> list[Step]:
        """The rows, grouped: a message with tool calls and the results that follow it."""
        steps: list[Step] = []
        for row in self.rows:
            if row["role"] == "tool" and steps:
                steps[-1].append(row)
            else:
                steps.append([row])
        return steps

    @cached_property
    def language(self) -> str:
        """The record's own ``language``, else told by its letters: en, zh, ja or mixed."""
        return self.record.get("language") or language(" ".join(self.texts))

    @cached_property
    def texts(self) -> list[str]:
        """What agents said, in order."""
        return [row["content"] for row in self.rows if row["role"] != "tool" and row["content"]]

    @cached_property
    def task(self) -> str:
        """The record's task, else its first message."""
        return self.record.get("task") or next(iter(self.texts), "")

    @cached_property
    def lead(self) -> str:
        """The first agent that speaks at least twice, else the first; a greeter speaks once."""
        spoke = [row["agent"] for row in self.rows if row["role"] == "assistant"]
        return next((a for a in spoke if spoke.count(a) > 1), spoke[0] if spoke else "")

    @cached_property
    def agents(self) -> list[str]:
        """Who spoke as a model, in order of appearance."""
        return list(dict.fromkeys(r["agent"] for r in self.rows if r["role"] == "assistant"))

    @cached_property
    def proxy(self) -> str:
        """A program that speaks for nobody; ``user_proxy`` where the run has none."""
        users = [r["agent"] for r in self.rows if r["role"] == "user" and not self.is_person(r)]
        return next((name for name in users if name not in self.agents), "user_proxy")

    def is_person(self, row: Message) -> bool:
        """Whether a human speaks: what is said between two humans' messages is one stretch."""
        framework = str(self.record.get("framework", "")).casefold()
        programs = "ag2" in framework or "autogen" in framework
        return row["role"] == "user" and row["agent"].casefold() in PERSONS and not programs

    def by_agent(self, step: Step) -> bool:
        """Whether a model took this step, after the run was opened."""
        return step[0]["role"] == "assistant" and step[0] is not self.rows[0]

    def says(self, step: Step, least: int) -> bool:
        """Whether an agent says so many words (see ``edit.length``) and does nothing else."""
        first = step[0]
        return (
            self.by_agent(step)
            and len(step) == 1
            and not first.get("tool_calls")
            and length(first["content"] or "") >= least
        )

    def asks_a_tool(self, step: Step) -> bool:
        """Whether tools are called and say something: a note to oneself gives no result."""
        results = [(row["content"] or "").strip() for row in step[1:]]
        return bool(step[0].get("tool_calls")) and any(results)

    def writes(self, step: Step) -> bool:
        """Whether it changes the world, by the names of its tools."""
        names = [str(call.get("name", "")) for call in step[0].get("tool_calls") or ()]
        return any(not _WRITES.isdisjoint(name.casefold().split("_")) for name in names)

    def quiet(self, first: int, last: int) -> bool:
        """Whether no person speaks and nothing is changed in the steps from first up to last."""
        return not any(
            self.is_person(step[0]) or self.writes(step) for step in self.steps[first:last]
        )

    def middle(self) -> range:
        """Positions of the steps between 30 and 70 % of the run."""
        count = len(self.steps)
        return range(max(1, round(count * 0.3)), min(count, round(count * 0.7) + 1))

    def until_stop(self) -> list[Step]:
        """The steps without the line that ended the run from outside (a person's stop word)."""
        steps = list(self.steps)
        while steps and _stops(steps[-1][0]):
            steps.pop()
        return steps


def _stops(row: Message) -> bool:
    return row["role"] != "assistant" and bool(_STOPS.match(row["content"] or ""))


def again(step: Sequence[Message]) -> Step:
    """A copy of a step, to be inserted."""
    return [copy.deepcopy(row) for row in step]


def flat(steps: Iterable[Sequence[Message]]) -> list[Message]:
    """The rows of steps."""
    return [row for step in steps for row in step]


def say(agent: str, text: str, role: str = "assistant", **more: Any) -> Message:
    """A new row."""
    return {"agent": agent, "role": role, "content": text, **more}


def pick(items: Sequence[Any], rng: random.Random) -> Any:
    """One of them, or None of none."""
    return rng.choice(items) if items else None


def finish(host: Record, planted: Planted, run_id: str) -> Record:
    """The new record: indices by position, fresh ids and times, so that no copy looks replayed."""
    rows = planted.rows
    position = {id(row): n for n, row in enumerate(rows)}
    record = {key: copy.deepcopy(value) for key, value in host.items() if key not in _REPLACED}
    record["id"] = run_id
    record["messages"] = list(_renumbered(rows))
    record["labels"] = {**record.get("labels", {}), **planted.labels}
    if planted.requests is not None:
        record["requests"] = [copy.deepcopy(dict(request)) for request in planted.requests]
    elif host.get("requests"):
        record["requests"] = _moved(host, position)
    return record


_REPLACED = frozenset({"id", "messages", "requests"})


def _renumbered(rows: Sequence[Message]) -> Iterator[Message]:
    open_calls: list[Message] = []
    for index, row in enumerate(rows):
        fresh = copy.deepcopy(row)
        fresh.update(index=index, id=f"m{index}", ts=_EPOCH + _SECONDS_PER_ROW * index)
        fresh.pop("tool_call_id", None)
        if fresh["role"] == "tool":
            call = _answered(open_calls, fresh.get("tool_name"))
            if call is not None:
                fresh["tool_call_id"] = call["id"]
        elif fresh["role"] == "assistant":
            open_calls = fresh.get("tool_calls") or []
            for number, call in enumerate(open_calls):
                call["id"] = f"c{index}.{number}"
            open_calls = list(open_calls)
        yield fresh


def _answered(open_calls: list[Message], tool: object) -> Message | None:
    """Take the open call that a result answers: of its name, else the oldest."""
    named = [n for n, call in enumerate(open_calls) if call.get("name") == tool]
    at = named[0] if named else 0
    return open_calls.pop(at) if open_calls else None


def _moved(host: Record, position: Mapping[int, int]) -> list[dict[str, Any]]:
    """The host's requests, each before the row it came before."""
    moved = []
    for request in host["requests"]:
        rows = host["messages"][request["before"] :]
        before = next((position[id(row)] for row in rows if id(row) in position), None)
        if before is not None:
            moved.append({**copy.deepcopy(request), "before": before})
    return moved
