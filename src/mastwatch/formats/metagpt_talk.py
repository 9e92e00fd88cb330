"""The communication log of a MetaGPT team: ``[time] FROM: A TO: {...}`` and ``NEW MESSAGES:``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from mastwatch.events import Outcome
from mastwatch.formats import fields
from mastwatch.formats.assembly import recorded_run
from mastwatch.formats.line_log import Block, Lost, blocks
from mastwatch.formats.recorded import Problem, Read, Where
from mastwatch.formats.rows import RowProblems, position_id
from mastwatch.formats.source import Source
from mastwatch.formats.transcript import PERSONS, Header, Row

_HEADING = re.compile(
    r"=== (?P<banner>MetaGPT Agent Communication Log - Started|Communication Log Ended).*"
    r"|\[(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\] "
    r"(?:FROM: (?P<agent>.{1,80}?) TO: (?P<to>.*)|(?P<new>NEW MESSAGES:))\s*$"
)
_NAMED = re.compile(r"(?P<agent>[A-Za-z_][\w() -]{0,60}?): ?(?P<text>.*)$")
_ADDRESSEE = re.compile(r"'([^']+)'|\"([^\"]+)\"")
_RULE = re.compile(r"-{40,}\s*$")
_ALL = "<all>"


def talks(head: str) -> bool:
    """Whether a text begins as such a log."""
    return any(_HEADING.match(line) for line in head.split("\n"))


def read_talk(source: Source, format_name: str) -> Iterator[Read]:
    """Read all runs of a communication log, one at a time."""
    run: _Talk | None = None
    record = 0
    for block in blocks(source.lines(), _HEADING.match, source.name):
        if isinstance(block, Problem):
            yield block
            continue
        begins = block.heading is not None and "Started" in (block.heading["banner"] or "")
        if run is None or (begins and run.rows):
            if run is not None:
                yield from run.finished(source.name, record, format_name)
            record += 1
            run = _Talk(block.line or 1)
        run.take(block)
    if run is not None:
        yield from run.finished(source.name, record, format_name)


@dataclass(slots=True)
class _Talk:
    """One run so far."""

    line: int
    rows: list[Row | None] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    ended: Outcome | None = None
    lost: Lost = field(default_factory=Lost)

    def take(self, block: Block[re.Match[str]]) -> None:
        """Take in one entry."""
        heading = block.heading
        if heading is None:
            return  # what the program printed before its log
        if heading["banner"]:
            self.ended = "completed" if "Ended" in heading["banner"] else None
            return
        at = fields.moment(heading["at"])
        body = [line for line in block.body if not _RULE.match(line)]
        if heading["agent"]:
            self._say(heading["agent"], _content(body), at, _recipients(heading["to"]))
        else:
            self._new(body, block.line + 1, at)

    def _new(self, body: list[str], first: int, at: float | None) -> None:
        """Messages under one heading; who has spoken before may begin another one."""
        said: list[tuple[str, list[str]]] = []
        for number, line in enumerate(body, first):
            found = _NAMED.match(line)
            if found and (not said or found["agent"] in self.names):
                self.names.add(found["agent"])
                said.append((found["agent"], [found["text"]]))
            elif said:
                said[-1][1].append(line)
            else:
                self.lost.add(number, [line])
        for agent, lines in said:
            self._say(agent, "\n".join(lines), at, ())

    def _say(self, agent: str, text: str, at: float | None, to: tuple[str, ...]) -> None:
        self.names.add(agent)
        person = agent.casefold() in PERSONS
        self.rows.append(
            Row(
                index=len(self.rows),
                agent=agent,
                role="user" if person else "assistant",
                text=text.strip("\n"),
                kind="reply" if not person else "human" if self.rows else "opener",
                recipients=to,
                at=at,
            )
        )

    def finished(self, file: str, record: int, format_name: str) -> Iterator[Read]:
        """The run."""
        where = Where(file, self.line, record)
        yield from self.lost.found(file)
        if not self.rows:
            yield Problem(where, "the run has no messages; skipped")
            return
        first = self.rows[0]
        header = Header(
            run_id=position_id(where),
            name="MetaGPT",
            framework="MetaGPT",
            task=first.text if first is not None and first.kind == "opener" else None,
            rows=len(self.rows),
            ended=self.ended,
        )
        yield from recorded_run(where, format_name, header, self.rows, RowProblems(where))


def _content(body: list[str]) -> str:
    """The text below ``CONTENT:``; all of it where there is no such line."""
    for number, line in enumerate(body):
        if line.strip() == "CONTENT:":
            return "\n".join(body[number + 1 :])
    return "\n".join(body)


def _recipients(told: str) -> tuple[str, ...]:
    """Names out of a printed set; to all is to nobody in particular.

    >>> _recipients("{'Coder'}"), _recipients("{'<all>'}")
    (('Coder',), ())
    """
    names = [one or other for one, other in _ADDRESSEE.findall(told)]
    return tuple(name for name in names if name != _ALL)
