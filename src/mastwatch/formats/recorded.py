"""What every reader gives back: runs, and problems with their position."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol, TypeAlias

from mastwatch.events import Event

if TYPE_CHECKING:
    from mastwatch.formats.source import Source


@dataclass(frozen=True, slots=True)
class Where:
    """A place in an input, as a person looks it up.

    Attributes:
        file: Path as given, or ``<stdin>``.
        line: From 1; None where lines mean nothing (one JSON document).
        record: Run or value in the file, from 1, broken ones counted.
        row: Message of the run, from 0, as in ``message_index``.

    >>> str(Where("runs.jsonl", 12, 12, 4))
    'runs.jsonl:12: message 4'
    >>> str(Where("runs.json", None, 2))
    'runs.json: record 2'
    """

    file: str
    line: int | None = None
    record: int | None = None
    row: int | None = None

    def __str__(self) -> str:
        text = self.file if self.line is None else f"{self.file}:{self.line}"
        if self.record is not None and self.record != self.line:
            text += f": record {self.record}"
        return text if self.row is None else f"{text}: message {self.row}"

    def at_row(self, row: int) -> Where:
        """The same place, at one message of the run."""
        return replace(self, row=row)


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that could not be read; the rest was.

    Attributes:
        where: Its position.
        text: One sentence: what is wrong and what was done, or what to do. No message text.
    """

    where: Where
    text: str

    def __str__(self) -> str:
        return f"{self.where}: {self.text}"


@dataclass(frozen=True, slots=True)
class Thought:
    """A private row of a recorded transcript: no utterance, so no event tells it.

    Attributes:
        index: Its row.
        agent: Who thought so.
        text: What.
    """

    index: int
    agent: str
    text: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRun:
    """One run read from a log.

    Attributes:
        id: The record's own id, else ``file name#position``; also the events' ``run_id``.
        where: Where it stands.
        format: Name of the format it was read with.
        framework: What made it, as the log says; may be empty.
        events: The run, from RunStarted to RunFinished.
        messages: Rows of its transcript, those without an event included.
        extra: What else the record says (labels, success, ...): for evaluation, never for
            detectors.
        thoughts: Its private rows, for those who read the run when it is over.
    """

    id: str
    where: Where
    format: str
    framework: str
    events: tuple[Event, ...]
    messages: int
    extra: Mapping[str, object] = field(default_factory=dict)
    thoughts: tuple[Thought, ...] = ()


Read: TypeAlias = RecordedRun | Problem


class Format(Protocol):
    """A log format: one module with an instance of this, one line in ``formats.FORMATS``.

    1. ``sniff`` looks at the source's ``head`` (text) or ``samples()`` (its first JSON values) and
       says whether the format is meant; it consumes nothing.
    2. ``read`` yields runs and problems in the order of the file, one run at a time in memory.
    3. Neither raises for anything the input may contain: what is broken becomes a Problem, and the
       good rest is read.
    """

    @property
    def name(self) -> str:
        """As in ``--format``."""

    def sniff(self, source: Source) -> bool:
        """Whether this is the format of ``source``."""

    def read(self, source: Source) -> Iterator[Read]:
        """Read all runs of ``source``."""
