"""What AG2 prints while a chat goes on, ``--format ag2-chat``: ``X (to Y):``, text, a rule.

Between messages stand notes of the framework (``>>>>>>>> EXECUTING CODE BLOCK``, ``Next speaker``).
A chat inside a chat (``Starting a new chat....``) becomes a branch of the run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from mastwatch.events import MessageKind, Outcome
from mastwatch.formats.ag2.dialogue import FRAMEWORK, Conversations, Said, rows
from mastwatch.formats.ag2.printed import RULE, parts
from mastwatch.formats.assembly import recorded_run
from mastwatch.formats.line_log import Block, Lost, blocks, plain
from mastwatch.formats.recorded import Problem, Read, Where
from mastwatch.formats.rows import RowProblems, position_id
from mastwatch.formats.source import Source
from mastwatch.formats.transcript import Header

_SPOKE = re.compile(r"(?P<agent>[^\s()>][^()\n]{0,80}?) \(to (?P<to>[^()\n]{1,80})\):\s*$")
_NOTE = re.compile(
    r">{8} (?P<note>.*)$|(?P<next>Next speaker: .*)$|(?P<new>Starting a new chat\.\.\.\.)"
    r"|(?P<asks>.*Provide feedback to .*Press enter to skip.*)$"
    r"|Clearing history for |\[autogen\.[\w.]+: "
)
_ENDED = re.compile(r"TERMINATING RUN \([^()]*\): (?P<reason>.*)$")
_MAX_NAMES = 1_000
_FRAME = re.compile(r"\*{80}$")


class PrintedChatFormat:
    """Reader of AG2's console output."""

    name = "ag2-chat"

    def sniff(self, source: Source) -> bool:
        """A speaker with an addressee, followed by a blank line, and a rule or a second speaker."""
        lines = [plain(line.rstrip("\r")) for line in source.head.split("\n")]
        speakers = [n for n, line in enumerate(lines) if _SPOKE.match(line)]
        speakers = [n for n in speakers if n + 1 >= len(lines) or not lines[n + 1].strip()]
        return bool(speakers) and (
            len(speakers) > 1 or any(RULE.match(line) for line in lines[speakers[0] :])
        )

    def read(self, source: Source) -> Iterator[Read]:
        """Read all runs, one at a time."""
        heading = _Headings()
        run: _Run | None = None
        record = 0
        for block in blocks(source.lines(), heading, source.name):
            if isinstance(block, Problem):
                yield block
                continue
            if run is None or (run.over and _speaks(block)):
                if run is not None:
                    yield from run.finished(source.name, record)
                record += 1
                run = _Run(block.line or 1)
            run.take(block)
        if run is not None and run.said:
            yield from run.finished(source.name, record)
        else:
            yield Problem(Where(source.name), "holds no message of an AG2 chat")


class _Headings:
    """Tells speakers from prose that only looks like one: a message ends with a rule."""

    def __init__(self) -> None:
        self._within = False
        self._names: set[str] = set()

    def __call__(self, line: str) -> re.Match[str] | None:
        found = _SPOKE.match(line)
        if found is not None:
            known = " " not in found["agent"] or found["agent"] in self._names
            if self._within and not known:
                return None
            if " " in found["agent"] and len(self._names) < _MAX_NAMES:
                self._names.add(found["agent"])
            self._within = True
            return found
        if RULE.match(line):
            self._within = False
        return None if self._within else _NOTE.match(line)


def _speaks(block: Block[re.Match[str]]) -> bool:
    return block.heading is not None and block.heading.re is _SPOKE


@dataclass(slots=True)
class _Run:
    """One run so far."""

    line: int
    said: list[Said | None] = field(default_factory=list)
    chats: Conversations = field(default_factory=Conversations)
    expected: MessageKind | None = None
    ended: Outcome | None = None
    reason: str = ""
    lost: Lost = field(default_factory=Lost)

    @property
    def over(self) -> bool:
        """Whether the main chat has ended, so that what follows is another run."""
        return self.ended is not None and not self.chats.nested

    def take(self, block: Block[re.Match[str]]) -> None:
        """Take in a message or a note."""
        heading = block.heading
        if heading is None:
            self.lost.add(1, block.body)
        elif heading.re is _SPOKE:
            self._message(heading["agent"], heading["to"], block)
        else:
            self._note(heading, block)

    def _message(self, agent: str, to: str, block: Block[re.Match[str]]) -> None:
        body, rest = _to_last_rule(block.body)
        branch = self.chats.of(agent, to)
        found = parts(body)
        for part in found:
            self.said.append(
                replace(part, agent=agent, to=to, branch=branch, kind=part.kind or self.expected)
            )
        self.expected = None
        self.lost.add(block.line + 1 + len(block.body) - len(rest), _unframed(rest))

    def _note(self, heading: re.Match[str], block: Block[re.Match[str]]) -> None:
        note = heading["note"] or ""
        ended = _ENDED.match(note)
        if heading["new"] and self.said:
            self.chats.begin()
        elif heading["asks"]:
            self.expected = "human"
        elif ended is not None:
            self._end(ended["reason"])
        elif note.startswith(("NO HUMAN INPUT", "USING AUTO REPLY")):
            self.expected = None
        elif note.startswith("EXECUTING CODE BLOCK"):
            self.expected = "code"
        if not heading["new"] and not note.startswith("EXECUT"):
            # What follows these two is theirs: a message announced, arguments, an output.
            self.lost.add(block.line + 1, _unframed(block.body))

    def _end(self, reason: str) -> None:
        if self.chats.nested:
            self.chats.end()
            return
        self.reason = reason
        self.ended = "limit" if reason.startswith("Maximum") else "completed"

    def finished(self, file: str, record: int) -> Iterator[Read]:
        """The run."""
        where = Where(file, self.line, record)
        yield from self.lost.found(file)
        header = Header(
            run_id=position_id(where),
            name=FRAMEWORK,
            framework=FRAMEWORK,
            task=next((one.text for one in self.said if one), None),
            rows=len(self.said),
            ended=self.ended,
            reason=self.reason,
        )
        found = list(rows(self.said))
        yield from recorded_run(where, PrintedChatFormat.name, header, found, RowProblems(where))


def _to_last_rule(body: list[str]) -> tuple[list[str], list[str]]:
    """A message's lines, and those that stand after its last rule."""
    ends = [number for number, line in enumerate(body) if RULE.match(line)]
    return (body[: ends[-1]], body[ends[-1] + 1 :]) if ends else (body, [])


def _unframed(lines: list[str]) -> list[str]:
    """Without the frame of asterisks around an announcement."""
    return ["" if _FRAME.match(line) else line for line in lines]
