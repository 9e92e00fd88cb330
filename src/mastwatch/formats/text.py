"""Plain text, ``--format text``: a conversation as people paste it.

One message per paragraph. ``Name:`` at its beginning tells the speaker; a paragraph without one
belongs to the message before. A text of a single paragraph is read line by line instead: that is
how short examples are written. What stands before the first name is the task.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from mastwatch.events import MessageKind, Role
from mastwatch.formats.lines import Line
from mastwatch.formats.recorded import Problem, Read, RecordedRun, Where
from mastwatch.formats.rows import position_id
from mastwatch.formats.source import Source
from mastwatch.formats.transcript import PERSONS, Header, Row, events

MAX_MESSAGES = 100_000
_UNNAMED = "unknown"
_NAMED = re.compile(
    r"(?:\*\*|__)?(?P<name>[^\W\d_][^\s:*]{0,40}(?: [^\s:*]{1,40}){0,2})"
    r"(?:\*\*|__)?:(?:\*\*|__)?(?:\s+|$)"
)
# What stands before a colon in prose, in logs and in what one agent says of its own steps.
_LABELS = frozenset(
    """
    action answer caution conclusion critical date debug details error example examples expected
    explanation fatal final found from goal hint important info input instruction instructions
    log next note notes observation options or output plan problem question rationale reason
    remember result results returns solution status step steps subject summary thought tip to
    todo trace usage warn warning
    """.split()  # noqa: SIM905 - a list of 60 words reads better as text
)
_ROLES: dict[str, Role] = {"system": "system", "tool": "tool", "function": "tool"}


@dataclass(slots=True)
class _Message:
    """What one speaker said, and the line it begins at."""

    line: int
    speaker: str
    paragraphs: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n\n".join(filter(None, self.paragraphs))


class TextFormat:
    """Reader of plain text."""

    name = "text"

    def sniff(self, source: Source) -> bool:
        """A conversation to and fro: two speakers, one of them twice, each time in a paragraph.

        Less than that may be any text with colons (a log, a YAML file) and must be asked for.
        """
        head = source.head
        if head.lstrip()[:1] in ("{", "["):
            return False
        blocks = [block.strip() for block in re.split(r"\n[^\S\n]*\n", head)]
        speakers = [speaker(block)[0] for block in blocks if block]
        named = [name for name in speakers if name]
        return bool(named) and speakers[0] != "" and 2 <= len(set(named)) < len(named)

    def read(self, source: Source) -> Iterator[Read]:
        """Read the whole text as one run."""
        problems: list[Problem] = []
        yield from _read(_paragraphs(_lines(source, problems)), problems, source.name)


def _lines(source: Source, problems: list[Problem]) -> Iterator[Line]:
    for item in source.lines():
        if isinstance(item, Problem):
            problems.append(item)
        else:
            yield item


def speaker(text: str) -> tuple[str, str]:
    """Part a paragraph into who speaks and what; the name is empty when none is told.

    >>> speaker("Planner: Begin with the tests."), speaker("**Code Reviewer**: Fine.")
    (('Planner', 'Begin with the tests.'), ('Code Reviewer', 'Fine.'))
    >>> speaker("Note: it rains."), speaker("Here it is: done."), speaker("https://x.org")
    (('', 'Note: it rains.'), ('', 'Here it is: done.'), ('', 'https://x.org'))
    """
    found = _NAMED.match(text)
    if found is None or not _is_name(found["name"]):
        return "", text
    return found["name"], text[found.end() :]


def _is_name(words: str) -> bool:
    first, *others = words.split(" ")
    if first.casefold() in _LABELS:
        return False
    # Of several words each has a capital, a number or a bracket: "Agent 2", "Writer (draft)".
    return not others or not any(word[0].islower() for word in (first, *others))


def _paragraphs(lines: Iterable[Line]) -> Iterator[tuple[int, str]]:
    """Paragraphs with the line they begin at; the lines, where there is but one paragraph."""
    first = True
    block: list[Line] = []
    ended = False
    for line in lines:
        if not line.text.strip():
            ended = bool(block)
            continue
        if ended:
            yield block[0].number, "\n".join(each.text for each in block)
            first, ended, block = False, False, []
        block.append(line)
    if first:
        yield from ((line.number, line.text) for line in block)
    elif block:
        yield block[0].number, "\n".join(each.text for each in block)


def _read(
    paragraphs: Iterator[tuple[int, str]], problems: list[Problem], file: str
) -> Iterator[Read]:
    messages, cut = _messages(paragraphs)
    yield from problems
    if not messages:
        yield Problem(Where(file, None, 1), "holds no text, only blank lines")
        return
    if cut:
        text = f"more than {MAX_MESSAGES:,} messages; the rest is left out"
        yield Problem(Where(file, cut), text)
    first = messages[0]
    if all(not message.speaker for message in messages):
        text = f"no paragraph begins with 'Name:'; all is read as said by {_UNNAMED!r}"
        yield Problem(Where(file, first.line), text)
        messages = [
            _Message(first.line, _UNNAMED, [text]) for text in first.paragraphs[:MAX_MESSAGES]
        ]
    elif not first.speaker:
        text = "what stands before the first 'Name:' is read as the task"
        yield Problem(Where(file, first.line), text)
    yield _run(messages, Where(file, None, 1))


def _messages(paragraphs: Iterator[tuple[int, str]]) -> tuple[list[_Message], int]:
    """The messages, and the line at which there were too many; no more is read then."""
    messages: list[_Message] = []
    for line, paragraph in paragraphs:
        name, text = speaker(paragraph)
        if messages and not name:
            messages[-1].paragraphs.append(text)
        elif len(messages) < MAX_MESSAGES:
            messages.append(_Message(line, name, [text]))
        else:
            return messages, line
    return messages, 0


def _run(messages: list[_Message], where: Where) -> RecordedRun:
    rows = [_row(index, message) for index, message in enumerate(messages)]
    task = rows[0].text if rows[0].kind == "opener" else None
    header = Header(run_id=position_id(where), name="text", task=task, rows=len(rows))
    return RecordedRun(
        id=header.run_id,
        where=where,
        format=TextFormat.name,
        framework=header.framework,
        events=tuple(events(header, rows)),
        messages=len(rows),
    )


def _row(index: int, message: _Message) -> Row:
    name = message.speaker or "user"
    person = name.casefold() in PERSONS
    role: Role = _ROLES.get(name.casefold(), "user" if person else "assistant")
    kind: MessageKind = "system" if role == "system" else "reply"
    if person:
        kind = "opener" if index == 0 else "human"
    return Row(index=index, agent=name, role=role, text=message.text, kind=kind)
