"""AppWorld's transcripts of a supervisor and its app agents, ``--format appworld``.

Blocks under headings: ``Response from X Agent``, ``Code Execution Output``, ``Message to X Agent``;
those of an app agent, indented between ``Entering`` and ``Exiting``, are a conversation of its own
inside the run. One run per ``Task`` line. An agent acts by Python code, and what the code put out
is handed to it as the next message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from mastwatch.events import MessageKind, Role, ToolRequest
from mastwatch.formats.assembly import recorded_run
from mastwatch.formats.line_log import Block, Lost, blocks
from mastwatch.formats.python_calls import Wanted, calls
from mastwatch.formats.recorded import Problem, Read, Where
from mastwatch.formats.rows import RowProblems, position_id
from mastwatch.formats.source import Source
from mastwatch.formats.transcript import Header, Row

_TASK = re.compile(r"\*{5,} Task \d+/\d+ \((?P<id>[^()\s]+)\) *\*{5,}\s*$")
_HEADING = re.compile(
    r" {0,4}(?:Response from (?P<says>.{1,60} Agent)|Message to (?P<told>.{1,60} Agent)"
    r"|Reply from (?P<replies>.{1,60} Agent) to (?P<to>.{1,60})|Response from (?P<api>\w+) API"
    r"|(?P<what>Code Execution Output|Evaluation)|Entering (?P<loop>.{1,60} Agent) message loop"
    r"|(?P<left>Exiting) .{1,60} message loop)\s*$"
)
_EXECUTOR, _SEND = "code_execution", "send_message"
_EXTENSION = "# CallExtension"


class _Heading(NamedTuple):
    """What begins a block: a task by its id, or a part of the transcript."""

    task: str
    part: re.Match[str] | None


class AppWorldFormat:
    """Reader of AppWorld transcripts."""

    name = "appworld"

    def sniff(self, source: Source) -> bool:
        """A task's heading and an agent's response."""
        found = [one for one in map(_heading, source.head.split("\n")) if one]
        agents = any(one.part is not None and one.part["says"] for one in found)
        return agents and any(one.task or (one.part and one.part["what"]) for one in found)

    def read(self, source: Source) -> Iterator[Read]:
        """Read all runs, one at a time."""
        run: _Run | None = None
        record = 0
        for block in blocks(source.lines(), _heading, source.name):
            if isinstance(block, Problem):
                yield block
                continue
            if run is None or (block.heading is not None and block.heading.task):
                if run is not None and run.rows:
                    yield from run.finished(source.name, record)
                record += 1
                run = _Run(block.line or 1)
            run.take(block)
        if run is not None and run.rows:
            yield from run.finished(source.name, record)
        else:
            yield Problem(Where(source.name), "holds no task of AppWorld")


def _heading(line: str) -> _Heading | None:
    task = _TASK.match(line)
    if task:
        return _Heading(task["id"], None)
    part = _HEADING.match(line)
    return _Heading("", part) if part else None


@dataclass(slots=True)
class _Run:
    """One task so far.

    ``speaker`` acts, ``shown`` is what its code put out: the next message to it repeats that.
    ``loop`` is the app agent that is being talked to, ``caller`` who does.
    """

    line: int
    id: str = ""
    task: str | None = None
    rows: list[Row | None] = field(default_factory=list)
    evaluation: object = None
    speaker: str = ""
    caller: str = ""
    loop: str = ""
    shown: str | None = None
    lost: Lost = field(default_factory=Lost)
    problems: list[tuple[int, str]] = field(default_factory=list)

    def take(self, block: Block[_Heading]) -> None:
        """Take in one block."""
        if block.heading is None:
            self.lost.add(1, block.body)
            return
        text, part = _dedented(block.body), block.heading.part
        if part is None:
            self.id, self.task = block.heading.task, text or None
            self._add("user", text, role="user", kind="opener")
        elif part["says"]:
            self.speaker = part["says"]
            self._add(self.speaker, text, calls=calls(text, _wanted))
        elif part["replies"]:
            self._add(part["replies"], text, to=part["to"])
        elif part["loop"]:
            self.loop, self.caller, self.shown = part["loop"], self.speaker, None
            self.speaker = ""
        elif part["left"]:
            self.loop, self.speaker = "", self.caller
        elif part["told"]:
            self._told(part["told"], text)
        elif part["api"]:
            self._returned(part["api"], text)
        elif part["what"] == "Evaluation":
            self._evaluated(text, block.line)
        elif part["what"]:
            self._output(text)

    def _told(self, agent: str, text: str) -> None:
        """A message to an agent: its code's output, or what another agent asks of it."""
        if self.shown is not None and self.shown == text:
            self.rows.append(None)  # stands in the row before already
        elif agent == self.speaker:
            self._output(text)
        else:
            asker = self.caller or "user"
            self._add(asker, text, role="user", kind="opener" if self.loop else "reply", to=agent)
        self.shown = None

    def _output(self, text: str) -> None:
        if text.startswith(_EXTENSION):
            self.rows.append(None)  # the call itself, told once more; its result follows
            return
        self.shown = text
        self._add(_EXECUTOR, text, role="user", kind="code", to=self.speaker)

    def _returned(self, tool: str, text: str) -> None:
        self.shown = text
        self.rows.append(
            Row(
                index=len(self.rows),
                agent=f"{tool} API",
                role="tool",
                text=text,
                tool=tool,
                branch=self.loop,
            )
        )

    def _evaluated(self, text: str, line: int) -> None:
        self.rows.append(None)
        try:
            self.evaluation = json.loads(text)
        except (ValueError, RecursionError):
            self.problems.append((line, "the evaluation is no valid JSON; left out"))

    def _add(
        self,
        agent: str,
        text: str,
        role: Role = "assistant",
        kind: MessageKind = "reply",
        to: str = "",
        calls: tuple[ToolRequest, ...] = (),
    ) -> None:
        recipients = (to,) if to else ()
        self.rows.append(
            Row(
                index=len(self.rows),
                agent=agent,
                role=role,
                text=text,
                kind=kind,
                recipients=recipients,
                calls=calls,
                branch=self.loop,
            )
        )

    def finished(self, file: str, record: int) -> Iterator[Read]:
        """The run."""
        where = Where(file, self.line, record)
        yield from self.lost.found(file)
        yield from (Problem(Where(file, line), text) for line, text in self.problems)
        header = Header(
            run_id=self.id or position_id(where),
            name="AppWorld",
            framework="AppWorld",
            task=self.task,
            rows=len(self.rows),
        )
        extra: dict[str, object] = {}
        if isinstance(self.evaluation, dict):
            extra["evaluation"] = self.evaluation
            if isinstance(self.evaluation.get("success"), bool):
                extra["success"] = self.evaluation["success"]
        problems = RowProblems(where)
        yield from recorded_run(
            where, AppWorldFormat.name, header, self.rows, problems, extra=extra
        )


def _wanted(called: str) -> Wanted:
    return called if called.startswith("apis.") or called == _SEND else None


def _dedented(body: list[str]) -> str:
    """The lines without the indentation all of them share, and without blank ones around."""
    filled = [line for line in body if line.strip()]
    margin = min((len(line) - len(line.lstrip(" ")) for line in filled), default=0)
    return "\n".join(line[margin:].rstrip() for line in body).strip("\n")
