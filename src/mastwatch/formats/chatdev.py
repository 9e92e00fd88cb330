"""ChatDev's logs, ``--format chatdev``: ``[time LEVEL] Agent: **heading**`` and what belongs to it.

Each phase begins with an instruction the framework writes, then two agents talk. Models' answers
stand in the log with the other side's system prompt before them, in brackets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import NamedTuple

from mastwatch.events import MessageKind, Outcome, Role
from mastwatch.formats.assembly import recorded_run
from mastwatch.formats.line_log import Block, Lost, blocks
from mastwatch.formats.recorded import Problem, Read, Where
from mastwatch.formats.rows import RowProblems, position_id
from mastwatch.formats.source import Source
from mastwatch.formats.transcript import Header, Row

_ENTRY = re.compile(r"\[(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) [A-Z]+\] (?P<text>.*)$")
_START = re.compile(r"(?P<agent>[^:*]{1,60}): \*\*\[Start Chat\]\*\*")
_SAID = re.compile(
    r"(?P<agent>[^:*]{1,60}): \*\*(?P<one>[^*<]{1,60})<->(?P<other>[^*]{1,60}?)"
    r" on : (?P<phase>\w+), turn \d+\*\*"
)
_ROLE = re.compile(r"You are (?:now )?(?P<agent>[A-Z][\w ]{0,60}?)[.,\n]")
_FIELD = re.compile(r"\*\*(?P<key>\w+)\*\*: (?P<value>.*)")
_BEGINS, _TESTS, _ENDS = "**[Preprocessing]**", "**[Test Reports]**", "**[Post Info]**"
_TESTER = "test_runner"


class _Entry(NamedTuple):
    at: str
    text: str


class ChatDevFormat:
    """Reader of ChatDev logs."""

    name = "chatdev"

    def sniff(self, source: Source) -> bool:
        """Entries with a heading of ChatDev's."""
        entries = filter(None, map(_entry, source.head.split("\n")))
        return any(
            entry.text.startswith(_BEGINS) or _START.match(entry.text) or _SAID.match(entry.text)
            for entry in entries
        )

    def read(self, source: Source) -> Iterator[Read]:
        """Read all runs, one at a time."""
        run: _Run | None = None
        record = 0
        for block in blocks(source.lines(), _entry, source.name):
            if isinstance(block, Problem):
                yield block
                continue
            if run is None or _begins(block):
                if run is not None and run.rows:
                    yield from run.finished(source.name, record)
                record += 1
                run = _Run(block.line or 1)
            run.take(block)
        if run is not None and run.rows:
            yield from run.finished(source.name, record)
        else:
            yield Problem(Where(source.name), "holds no message of a ChatDev agent")


def _entry(line: str) -> _Entry | None:
    found = _ENTRY.match(line)
    return _Entry(found["at"], found["text"]) if found else None


def _begins(block: Block[_Entry]) -> bool:
    return block.heading is not None and block.heading.text.startswith(_BEGINS)


@dataclass(slots=True)
class _Run:
    """One run so far."""

    line: int
    rows: list[Row | None] = field(default_factory=list)
    prompts: dict[str, str] = field(default_factory=dict)
    fields: dict[str, str] = field(default_factory=dict)
    ended: Outcome | None = None
    lost: Lost = field(default_factory=Lost)

    def take(self, block: Block[_Entry]) -> None:
        """Take in one entry of the log; most of them are the framework's own book-keeping."""
        entry = block.heading
        if entry is None:
            self.lost.add(1, block.body)
        elif entry.text.startswith(_BEGINS):
            found_fields = filter(None, map(_FIELD.match, block.body))
            self.fields = {found["key"]: found["value"] for found in found_fields}
        elif entry.text.startswith(_TESTS):
            self._add(entry, _TESTER, block.text, role="user", kind="code")
        elif entry.text.startswith(_ENDS):
            self.ended = "completed"
        elif found := _SAID.match(entry.text):
            others = [name for name in found.group("one", "other") if name != found["agent"]]
            self._add(entry, found["agent"], self._without_prompt(block.text), to=others[:1])
        elif found := _START.match(entry.text):
            text = self._without_prompt(block.text)
            self._add(entry, found["agent"], text, role="user", kind="system")

    def _add(
        self,
        entry: _Entry,
        agent: str,
        text: str,
        role: Role = "assistant",
        kind: MessageKind = "reply",
        to: list[str] | None = None,
    ) -> None:
        self.rows.append(
            Row(
                index=len(self.rows),
                agent=agent,
                role=role,
                text=text,
                kind=kind,
                recipients=tuple(to or ()),
                at=_moment(entry.at),
            )
        )

    def _without_prompt(self, text: str) -> str:
        """What was said, without the system prompt in brackets before it, which is kept."""
        if not text.startswith("["):
            return text
        prompt, end, said = text.partition("]\n\n")
        if not end and text.endswith("]"):
            prompt, said = text[:-1], ""
        elif not end:
            return text
        role = _ROLE.search(prompt)
        if role is not None:
            self.prompts.setdefault(role["agent"], prompt[1:])
        return said.strip("\n")

    def finished(self, file: str, record: int) -> Iterator[Read]:
        """The run."""
        where = Where(file, self.line, record)
        yield from self.lost.found(file)
        header = Header(
            run_id=position_id(where),
            name=self.fields.get("project_name", "ChatDev"),
            framework="ChatDev",
            task=self.fields.get("task_prompt"),
            prompts=self.prompts,
            rows=len(self.rows),
            ended=self.ended,
            reason="ChatDev Ends" if self.ended else "",
        )
        yield from recorded_run(where, ChatDevFormat.name, header, self.rows, RowProblems(where))


def _moment(told: str) -> float | None:
    """Unix seconds; ChatDev writes the day before the month. Without a zone: UTC.

    >>> _moment("2025-17-01 00:00:01")
    1737072001.0
    """
    for pattern in ("%Y-%d-%m %H:%M:%S", "%Y-%m-%d %H:%M:%S"):
        try:
            return datetime.strptime(told, pattern).replace(tzinfo=timezone.utc).timestamp()
        except ValueError:
            continue
    return None
