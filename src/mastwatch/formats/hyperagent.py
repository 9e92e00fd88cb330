"""HyperAgent's logs, ``--format hyperagent``: ``HyperAgent_{instance} - LEVEL - text``.

Either the log itself or a JSON object with its lines under ``trajectory``, as the seed study keeps
them. What a tool returned is not in these logs; the calls are in the code of a message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from mastwatch.formats.annotated import instance
from mastwatch.formats.assembly import recorded_run
from mastwatch.formats.json_values import Value, each_run, read_each
from mastwatch.formats.line_log import Block, Lost, blocks
from mastwatch.formats.lines import Line
from mastwatch.formats.python_calls import Wanted, calls
from mastwatch.formats.recorded import Problem, Read, Where
from mastwatch.formats.rows import RowProblems, position_id
from mastwatch.formats.source import Source
from mastwatch.formats.transcript import Header, Row

_ENTRY = re.compile(r"HyperAgent_(?P<run>\S+) - [A-Z]+ - (?P<text>.*)$")
_REPLY = re.compile(r"(?P<agent>[\w-]{1,60})'s Response: ?(?P<text>.*)$")
_REPORT = re.compile(r"(?P<agent>[\w-]{1,60})->(?P<to>[\w-]{1,60}): ?(?P<text>.*)$")
_BEGINS = "Initialized HyperAgent instance"
_SYSTEM = "hyperagent"
_LINES = "trajectory"
_PYTHON = re.compile(r"^```python[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


class _Entry(NamedTuple):
    run: str
    text: str


class HyperAgentFormat:
    """Reader of HyperAgent logs."""

    name = "hyperagent"

    def sniff(self, source: Source) -> bool:
        """An entry in the text, or in the lines under ``trajectory``."""
        if source.head.lstrip()[:1] not in ("{", "["):
            return any(_entry(line) for line in source.head.split("\n"))
        return any(
            isinstance(line, str) and _entry(line)
            for value in source.samples()
            for run in each_run(Value(value, Where("")))
            for line in _trajectory(run.value)
        )

    def read(self, source: Source) -> Iterator[Read]:
        """Read all runs, one at a time."""
        if source.head.lstrip()[:1] not in ("{", "["):
            yield from _log(source)
            return
        yield from read_each(source.values(), _study)


def _entry(line: str) -> _Entry | None:
    found = _ENTRY.match(line)
    return _Entry(found["run"], found["text"]) if found else None


def _trajectory(value: object) -> list[object]:
    lines = value.get(_LINES) if isinstance(value, dict) else None
    return lines if isinstance(lines, list) else []


@dataclass(slots=True)
class _Run:
    """The rows of one run so far."""

    name: str
    line: int
    rows: list[Row | None] = field(default_factory=list)
    lost: Lost = field(default_factory=Lost)

    def take(self, entry: _Entry, body: list[str]) -> None:
        """Add what one entry says; a handler added twice writes every entry twice."""
        row = _row(len(self.rows), "\n".join((entry.text, *body)))
        last = self.rows[-1] if self.rows else None
        if last is None or replace(row, index=last.index) != last:
            self.rows.append(row)


def _row(index: int, text: str) -> Row:
    text = text.rstrip("\n")
    head, _, rest = text.partition("\n")
    found = _REPLY.match(head) or _REPORT.match(head)
    if found is None:
        return Row(index=index, agent=_SYSTEM, role="system", kind="system", text=text)
    said = "\n".join((found["text"], rest)).strip("\n") if rest else found["text"]
    to = found.groupdict().get("to")
    code = "\n".join(_PYTHON.findall(said)) if found.re is _REPLY else ""
    return Row(
        index=index,
        agent=found["agent"],
        role="assistant",
        text=said,
        recipients=(to,) if to else (),
        calls=calls(code, _wanted) if code else (),
    )


def _wanted(called: str) -> Wanted:
    """Tools are objects with a method ``_run``."""
    return called.removesuffix("._run") if called.endswith("._run") else None


def _log(source: Source) -> Iterator[Read]:
    run: _Run | None = None
    record = 0
    before = Lost()
    for block in blocks(source.lines(), _entry, source.name):
        if isinstance(block, Problem):
            yield block
        elif block.heading is None:
            before.add(1, block.body)
        else:
            if run is None or _is_next(run, block):
                if run is not None:
                    yield from _finished(run, source.name, record)
                record += 1
                run = _Run(block.heading.run, block.line)
            run.take(block.heading, block.body)
    yield from before.found(source.name)
    if run is None:
        yield Problem(Where(source.name), "holds no entry of a HyperAgent log")
    else:
        yield from _finished(run, source.name, record)


def _is_next(run: _Run, block: Block[_Entry]) -> bool:
    entry = block.heading
    begins = entry is not None and entry.text.startswith(_BEGINS) and len(run.rows) > 1
    return begins or (entry is not None and entry.run != run.name)


def _finished(run: _Run, file: str, record: int) -> Iterator[Read]:
    where = Where(file, run.line, record)
    header = Header(
        run_id=run.name or position_id(where),
        name="HyperAgent",
        framework="HyperAgent",
        rows=len(run.rows),
    )
    yield from recorded_run(where, HyperAgentFormat.name, header, run.rows, RowProblems(where))


def _study(item: Value) -> Iterator[Read]:
    lines, where = _trajectory(item.value), item.where
    if not lines or not isinstance(item.value, dict):
        yield Problem(where, f"has no list of lines under {_LINES!r}; skipped")
        return
    record: Mapping[str, object] = item.value
    problems = RowProblems(where)
    run = _Run("", 1)
    texts = (Line(n, text) for n, text in enumerate(lines, 1) if isinstance(text, str))
    for block in blocks(texts, _entry, where.file):
        if isinstance(block, Problem):
            yield block
        elif block.heading is None:
            count = sum(1 for line in block.body if line.strip())
            problems.add(None, f"{count} lines stand before the first entry; left out")
        else:
            run.take(block.heading, block.body)
    if not run.rows:
        yield Problem(where, "holds no entry of a HyperAgent log; skipped")
        return
    header, extra = instance(record, where, "HyperAgent", len(run.rows), _LINES)
    yield from recorded_run(where, HyperAgentFormat.name, header, run.rows, problems, extra=extra)
