"""Logs of OpenManus, ``--format openmanus``: lines ``time | LEVEL | module:function:line - text``.

A turn of an agent is told over several lines: its thoughts, the tools it chose, their arguments.
An agent that calls ``terminate`` inside a plan ends its step and not the run: the flow says so.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from mastwatch.events import Outcome, ToolRequest
from mastwatch.formats import fields
from mastwatch.formats.assembly import recorded_run
from mastwatch.formats.body import Body
from mastwatch.formats.line_log import Lost
from mastwatch.formats.recorded import Problem, Read, Where
from mastwatch.formats.rows import RowProblems, position_id
from mastwatch.formats.source import Source
from mastwatch.formats.transcript import Header, Row

MAX_MESSAGES = 100_000
_ENTRY = re.compile(
    r"(?:Enter your prompt: *)?(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}) "
    r"\| (?P<level>[A-Z]+) *\| (?P<place>[\w.]+:\w+):\d+ - (?P<text>.*)$"
)
_PROMPT = "Enter your prompt:"
_NOISE = re.compile(r"(?:DEBUG|INFO|WARNING|ERROR) +\[[\w.]+\] ")  # of the libraries it uses
_THOUGHTS = re.compile(r"\W*(?P<agent>\w[\w ]*?)'s thoughts: ?(?P<text>.*)", re.DOTALL)
_TOOLS = re.compile(r"\W*Tools being prepared: (?P<names>\[.*\])", re.DOTALL)
_ARGUMENTS = re.compile(r"\W*Tool arguments: (?P<arguments>.*)", re.DOTALL)
_RESULT = re.compile(
    r"\W*Tool '(?P<tool>[^']*)' completed its mission! Result: ?(?P<text>.*)", re.DOTALL
)
_FAILED = re.compile(r"'success': False\}?\s*$|Error: ")
_STEP = re.compile(r"Executing step \d+/\d+$|Marked step \d+ ")
_SUMMARY = re.compile(r"^Plan completed:\s*\n", re.MULTILINE)
_FLOW, _PLANNER = "flow", "PlanningFlow"
_TERMINATE = "terminate"
_BEGINS = "Processing your request"
_ENDINGS: dict[str, Outcome] = {
    "Request processed in": "completed",
    "Request processing completed": "completed",
    "Request processing timed out": "limit",
    "Operation cancelled by user": "cancelled",
    "Operation interrupted": "cancelled",
}


@dataclass(slots=True)
class _Entry:
    """One entry of the log; its text may go over many lines."""

    line: int
    at: float | None
    level: str
    text: str
    more: Body = field(default_factory=Body)

    @property
    def whole(self) -> str:
        return "\n".join((self.text, *self.more.lines)).rstrip("\n")


class OpenManusFormat:
    """Reader of OpenManus logs."""

    name = "openmanus"

    def sniff(self, source: Source) -> bool:
        """Entries whose module is one of OpenManus's own."""
        places = (found["place"] for found in map(_ENTRY.match, source.head.split("\n")) if found)
        return any(
            place.startswith(("app.agent.", "app.flow.", "__main__:run_flow")) for place in places
        )

    def read(self, source: Source) -> Iterator[Read]:
        """Read all runs, one at a time."""
        log = _Log(source.name)
        entry: _Entry | None = None
        for line in source.lines():
            if isinstance(line, Problem):
                yield line
                continue
            found = _ENTRY.match(line.text)
            if found is not None:
                if entry is not None:
                    yield from log.take(entry)
                at = fields.moment(found["at"])
                entry = _Entry(line.number, at, found["level"], found["text"])
            elif line.text.startswith(_PROMPT):
                if entry is not None:
                    yield from log.take(entry)
                entry = None
                yield from log.asked(line.text.removeprefix(_PROMPT).strip())
            elif _NOISE.match(line.text):
                continue
            elif entry is not None:
                entry.more.add(line.text)
            else:
                log.lost.add(line.number, [line.text])
        if entry is not None:
            yield from log.take(entry)
        yield from log.end()
        if not log.record:
            yield Problem(Where(source.name), "holds no step of an OpenManus agent")


class _Log:
    """Goes through the entries; gives a run as soon as it is over."""

    def __init__(self, file: str) -> None:
        self._file = file
        self.record = 0
        self.lost = Lost()
        self._clear()

    def _clear(self) -> None:
        self._rows: list[Row | None] = []
        self._faults: list[Problem] = []
        self._began = 0
        self._task: str | None = None
        self._ended: Outcome | None = None
        self._full = False
        self._planned = False

    def asked(self, task: str) -> Iterator[Read]:
        """What a person typed; a run begins."""
        yield from self.end()
        self._task = task or None

    def take(self, entry: _Entry) -> Iterator[Read]:
        """Take in one entry."""
        text = entry.whole
        if text.startswith(_BEGINS) and self._rows:
            yield from self.end()
        self._began = self._began or entry.line
        if entry.more.cut:
            self._faults.append(Problem(Where(self._file, entry.line), entry.more.fault))
        if len(self._rows) < MAX_MESSAGES:
            self._entry(text, entry)
        elif not self._full:
            self._full = True
            told = f"more than {MAX_MESSAGES:,} messages; the rest of the run is left out"
            self._faults.append(Problem(Where(self._file, entry.line), told))

    def _entry(self, text: str, entry: _Entry) -> None:
        ending = next((how for words, how in _ENDINGS.items() if text.startswith(words)), None)
        summary = _SUMMARY.search(text)
        if ending is not None:
            self._ended = ending
        elif text.startswith("Plan creation result:"):
            self._say(_PLANNER, text, entry)
            self._planned = True
        elif _STEP.match(entry.text):
            self._say(_FLOW, text, entry)
        elif summary is not None and self._ended is not None:
            self._say(_PLANNER, text[summary.start() :], entry)
        else:
            self._turn(text, entry)

    def _turn(self, text: str, entry: _Entry) -> None:
        if found := _THOUGHTS.match(text):
            self._say(found["agent"], found["text"], entry)
        elif found := _TOOLS.match(text):
            self._choose(found["names"], entry)
        elif found := _ARGUMENTS.match(text):
            self._give(fields.arguments(found["arguments"]))
        elif (found := _RESULT.match(text)) and found["tool"] == _TERMINATE and self._planned:
            self._end_step(found["text"], entry)
        elif found:
            self._rows.append(
                Row(
                    index=len(self._rows),
                    agent="tool",
                    role="tool",
                    text=found["text"],
                    tool=found["tool"],
                    error="ToolError" if _FAILED.search(found["text"][-200:]) else None,
                    at=entry.at,
                )
            )

    def _say(self, agent: str, text: str, entry: _Entry) -> None:
        own = agent == _FLOW  # what the program says of its progress
        self._rows.append(
            Row(
                index=len(self._rows),
                agent=agent,
                role="system" if own else "assistant",
                text=text,
                kind="system" if own else "reply",
                at=entry.at,
            )
        )

    def _end_step(self, text: str, entry: _Entry) -> None:
        asked = next((row for row in reversed(self._rows) if row and row.role == "assistant"), None)
        if asked is not None:
            calls = tuple(call for call in asked.calls if call.name != _TERMINATE)
            self._rows[asked.index] = replace(asked, calls=calls)
        self._say(_FLOW, text, entry)

    def _choose(self, names: str, entry: _Entry) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # "invalid escape sequence": the log's, not ours
                chosen = [fields.scrub(str(name)) for name in ast.literal_eval(names)]
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            where = Where(self._file, entry.line)
            self._faults.append(Problem(where, "the tools named here cannot be read; left out"))
            return
        self._call(tuple(ToolRequest(name=name) for name in chosen))

    def _give(self, arguments: object) -> None:
        """The log has the arguments of the first tool only."""
        last = self._rows[-1] if self._rows else None
        if last is not None and last.calls:
            first = replace(last.calls[0], arguments=arguments)
            self._call((first, *last.calls[1:]))

    def _call(self, calls: tuple[ToolRequest, ...]) -> None:
        last = self._rows[-1] if self._rows else None
        if last is not None and last.role == "assistant":
            self._rows[-1] = replace(last, calls=calls)

    def end(self) -> Iterator[Read]:
        """Give the run that is over, if there is one."""
        if self._rows:
            self.record += 1
            where = Where(self._file, self._began, self.record)
            yield from self.lost.found(self._file)
            yield from self._faults
            header = Header(
                run_id=position_id(where),
                name="OpenManus",
                framework="openmanus",
                task=self._task,
                rows=len(self._rows),
                ended=self._ended,
            )
            problems = RowProblems(where)
            yield from recorded_run(where, OpenManusFormat.name, header, self._rows, problems)
        self._clear()
