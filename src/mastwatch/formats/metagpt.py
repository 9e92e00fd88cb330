"""MetaGPT's logs, ``--format metagpt``, in the three shapes they come in.

A communication log (``[time] NEW MESSAGES:``), the framework's own log (``time | LEVEL |
place:_act:line - Name(Role): to do Action``, the answer below it), or an object that holds such a
log as ``content`` with its ``prompt``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from mastwatch.formats import fields
from mastwatch.formats.assembly import recorded_run
from mastwatch.formats.json_values import Value, each_run, read_each
from mastwatch.formats.line_log import Block, blocks
from mastwatch.formats.lines import Line
from mastwatch.formats.metagpt_talk import read_talk, talks
from mastwatch.formats.recorded import Problem, Read, Where
from mastwatch.formats.rows import RowProblems, position_id, record_id
from mastwatch.formats.source import Source
from mastwatch.formats.transcript import Header, Row

_ENTRY = re.compile(
    r"(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}) \| (?P<level>[A-Z]+) *\| "
    r"(?P<place>[\w.]+:\w+):\d+ - (?P<text>.*)$"
)
_ACT = re.compile(r"(?P<agent>[^\s:(]+\([^\s:()]+\)): to do (?P<action>\w+)")
_LOG, _PROMPT = "content", "prompt"
_HUMAN = "Human"


class MetaGptFormat:
    """Reader of MetaGPT logs."""

    name = "metagpt"

    def sniff(self, source: Source) -> bool:
        """A line in which a role takes up an action, or the heading of a communication log."""
        if _is_json(source):
            return any(
                _acts(_text(run.value))
                for value in source.samples()
                for run in each_run(Value(value, Where("")))
            )
        return talks(source.head) or _acts(source.head)

    def read(self, source: Source) -> Iterator[Read]:
        """Read all runs, one at a time."""
        if not _is_json(source):
            if talks(source.head):
                yield from read_talk(source, self.name)
            else:
                yield from _log(source)
            return
        yield from read_each(source.values(), _kept)


def _is_json(source: Source) -> bool:
    return source.head.lstrip()[:1] == "{" or source.head.lstrip()[:2] in ("[{", "[\n", "[\r", "[ ")


def _text(value: object) -> str:
    text = value.get(_LOG) if isinstance(value, dict) else None
    return text if isinstance(text, str) else ""


def _acts(text: str) -> bool:
    return any(_heading(line) is not None for line in text.split("\n"))


def _heading(line: str) -> re.Match[str] | None:
    """An entry in which a role acts."""
    found = _ENTRY.match(line)
    return found if found and _ACT.match(found["text"]) else None


def _log(source: Source) -> Iterator[Read]:
    where = Where(source.name, None, 1)
    rows: list[Row | None] = []
    for block in blocks(source.lines(), _ENTRY.match, source.name):
        if isinstance(block, Problem):
            yield block
        else:
            _take(block, rows)
    header = Header(run_id=position_id(where), name="MetaGPT", framework="MetaGPT", rows=len(rows))
    if not rows:
        yield Problem(Where(source.name), "holds no action of a MetaGPT role")
        return
    yield from recorded_run(where, MetaGptFormat.name, header, rows, RowProblems(where))


def _kept(item: Value) -> Iterator[Read]:
    text, where = _text(item.value), item.where
    if not isinstance(item.value, dict) or not text:
        yield Problem(where, f"has no log under {_LOG!r}; skipped")
        return
    record: Mapping[str, object] = item.value
    task = record.get(_PROMPT)
    rows: list[Row | None] = []
    if isinstance(task, str) and task:
        rows.append(Row(index=0, agent=_HUMAN, role="user", text=task, kind="opener"))
    lines = (Line(number, line) for number, line in enumerate(text.split("\n"), 1))
    for block in blocks(lines, _ENTRY.match, where.file):
        if isinstance(block, Block):
            _take(block, rows)
    header = Header(
        run_id=record_id(record, where),
        name="MetaGPT",
        framework="MetaGPT",
        task=task if isinstance(task, str) else None,
        rows=len(rows),
    )
    extra = {key: value for key, value in record.items() if key not in (_LOG, _PROMPT)}
    problems = RowProblems(where)
    yield from recorded_run(where, MetaGptFormat.name, header, rows, problems, extra=extra)


def _take(block: Block[re.Match[str]], rows: list[Row | None]) -> None:
    """Add the row of an entry in which a role acts; some versions log no text with it."""
    found = _ACT.match(block.heading["text"]) if block.heading is not None else None
    if found is None or block.heading is None:
        return
    rows.append(
        Row(
            index=len(rows),
            agent=found["agent"],
            role="assistant",
            text=block.text or None,
            at=fields.moment(block.heading["at"]),
        )
    )
