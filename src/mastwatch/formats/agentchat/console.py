"""What AgentChat and Magentic-One print, ``--format autogen-console``.

A message begins with ``---------- name ----------`` (``---------- TextMessage (name) ----------``
in newer versions), or with a line of dashes and ``[time], name:`` in the first Magentic-One. What
AutoGenBench prints around a run tells where it begins and how it ended.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from mastwatch.events import Outcome
from mastwatch.formats import fields
from mastwatch.formats.agentchat import printed
from mastwatch.formats.agentchat.items import Item, Transcript, how_ended
from mastwatch.formats.assembly import recorded_run
from mastwatch.formats.body import Body
from mastwatch.formats.line_log import Lost
from mastwatch.formats.lines import Line
from mastwatch.formats.recorded import Problem, Read, Where
from mastwatch.formats.rows import RowProblems, position_id
from mastwatch.formats.source import Source
from mastwatch.formats.transcript import Header

MAX_MESSAGES = 100_000
_HEADER = re.compile(
    r"-{10} (?:(?P<kind>[A-Z]\w*(?:Message|Event)(?:\[\w+\])?) \((?P<of>.+)\)"
    r"|(?P<name>\S.{0,80})) -{10}$"
)
_TIMED = re.compile(
    r"(?:\x1b\[\d+m)?\[(?P<at>\d{4}-\d\d-\d\dT[\d:.]+)\], (?P<name>[^:]{1,80}):(?:\x1b\[0m)?$"
)
_RULE = re.compile(r"-{75}\s*$")
_USAGE = re.compile(r"\[Prompt tokens: \d+, Completion tokens: \d+\]$")
_MARK = re.compile(r"(?:RUN\.SH|SCENARIO\.PY) (?P<what>[A-Z]+).*!#!#$")
_SUMMARY = "Summary"
_REASON = re.compile(r"Finish reason: (?P<reason>.*)$")
_ENDED: dict[str, Outcome] = {"COMPLETE": "completed", "EXITED": "error"}


@dataclass(slots=True)
class _Block:
    """What was printed under one header, and the line it begins at."""

    line: int
    source: str
    kind: str = ""
    at: float | None = None
    body: Body = field(default_factory=Body)


class ConsoleFormat:
    """Reader of what AgentChat prints."""

    name = "autogen-console"

    def sniff(self, source: Source) -> bool:
        """A header of a message, or AutoGenBench's first line."""
        lines = [line.rstrip("\r") for line in source.head.split("\n")]
        benchmark = any(_MARK.match(line) for line in lines[:200])
        return benchmark or any(_begins(lines, at) for at in range(len(lines)))

    def read(self, source: Source) -> Iterator[Read]:
        """Read all runs, one at a time."""
        log = _Log(source.name)
        for line in source.lines():
            if isinstance(line, Problem):
                yield line
            else:
                yield from log.take(line)
        yield from log.end()
        if not log.record:
            yield Problem(Where(source.name), "holds no message of AgentChat")


def _begins(lines: list[str], at: int) -> bool:
    line = lines[at]
    return bool(_HEADER.match(line) or (at and _RULE.match(lines[at - 1]) and _TIMED.match(line)))


class _Log:
    """Goes through the lines; gives a run as soon as it is over."""

    def __init__(self, file: str) -> None:
        self._file = file
        self.record = 0
        self._lost = Lost()
        self._benchmark = False
        self._clear()

    def _clear(self) -> None:
        self._block: _Block | None = None
        self._transcript = Transcript()
        self._faults: list[Problem] = []
        self._began = 0
        self._left_out = 0
        self._summed_up = False
        self._ended: Outcome | None = None
        self._reason = ""

    def take(self, line: Line) -> Iterator[Read]:
        """Take in one line."""
        mark = _MARK.match(line.text)
        header = None if mark else _HEADER.match(line.text) or self._timed(line.text)
        if mark is not None:
            self._benchmark, self._lost = True, Lost()  # all that is printed before is its own
            self._close()
            if mark["what"] == "STARTING":
                yield from self.end()
            self._ended = self._ended or _ENDED.get(mark["what"])
        elif header is not None:
            self._close()
            if self._summed_up:
                yield from self.end()
            self._open(line, header)
        elif self._block is not None:
            self._block.body.add(line.text)
        elif not self._benchmark:
            self._lost.add(line.number, [line.text])

    def _timed(self, text: str) -> re.Match[str] | None:
        block = self._block
        ruled = block is None or (
            bool(block.body.lines) and _RULE.match(block.body.lines[-1]) is not None
        )
        found = _TIMED.match(text) if ruled else None
        if found is not None and block is not None:
            block.body.lines.pop()
        return found

    def _open(self, line: Line, header: re.Match[str]) -> None:
        said = header.groupdict()
        name = said.get("of") or said.get("name") or ""
        self._block = _Block(
            line.number, name, said.get("kind") or "", fields.moment(said.get("at"))
        )
        self._began = self._began or line.number

    def _close(self) -> None:
        block, self._block = self._block, None
        if block is None:
            return
        if block.source == _SUMMARY and not block.kind:
            self._summed_up = True
            reasons = (_REASON.match(line) for line in block.body.lines)
            self._reason = next((found["reason"] for found in reasons if found), "")
            self._reason = "" if self._reason == "None" else self._reason
            self._ended = self._ended or how_ended(self._reason)
        elif len(self._transcript.rows) >= MAX_MESSAGES:
            self._left_out += 1
        else:
            self._transcript.add(self._item(block))

    def _item(self, block: _Block) -> Item:
        while block.body.lines and (
            not block.body.lines[-1].strip() or _USAGE.match(block.body.lines[-1])
        ):
            block.body.lines.pop()
        text = "\n".join(block.body.lines).strip("\n")
        calls = printed.read_calls(text) if text.startswith(printed.CALLS) else ()
        results = printed.read_results(text) if text.startswith(printed.RESULTS) else ()
        where = Where(self._file, block.line)
        if block.body.cut:
            self._faults.append(Problem(where, block.body.fault))
        if calls is None or results is None:
            self._faults.append(Problem(where, "the tool calls here cannot be read; kept as text"))
        return Item(
            source=block.source,
            kind=block.kind,
            text=None if calls or results else text,
            calls=calls or (),
            results=results or (),
            at=block.at,
        )

    def end(self) -> Iterator[Read]:
        """Give the run that is over, if there is one."""
        self._close()
        if self._transcript.rows:
            self.record += 1
            yield from self._lost.found(self._file)
            yield from self._faults
            yield from self._run(Where(self._file, self._began, self.record))
        self._clear()

    def _run(self, where: Where) -> Iterator[Read]:
        transcript = self._transcript
        if self._left_out:
            text = f"more than {MAX_MESSAGES:,} messages; {self._left_out:,} are left out"
            yield Problem(where, text)
        rows = transcript.rows
        magentic = any(row is not None and "Orchestrator" in row.agent for row in rows)
        header = Header(
            run_id=position_id(where),
            name="Magentic-One" if magentic else "AgentChat",
            framework="magentic-one" if magentic else "autogen",
            task=transcript.task,
            rows=len(rows),
            ended=self._ended,
            reason=self._reason,
        )
        yield from recorded_run(
            where,
            ConsoleFormat.name,
            header,
            rows,
            RowProblems(where),
            thoughts=transcript.thoughts,
        )
