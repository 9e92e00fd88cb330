"""One input as the formats see it: its beginning, its lines, its JSON values.

It is held in memory one record at a time: a line of JSONL, an element of a long array of runs, or a
whole JSON document.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import BinaryIO

from mastwatch.formats import arrays
from mastwatch.formats.json_values import Value, read_values
from mastwatch.formats.lines import BOM, READ_ERRORS, Lines, damage, read_lines, unpack, unreadable
from mastwatch.formats.recorded import Problem, Where

_DATABASE = b"SQLite format 3\0"
MAX_SAMPLES = 8
"""Values looked at to tell the format; a few broken ones may come first."""


class Source:
    """One input, read once from front to back.

    Args:
        stream: Bytes, plain or gzip; it is not closed.
        name: How positions call it.
        path: The file it comes from; None for a stream.

    Attributes:
        problem: Why nothing can be read from it; None when something may.
        sampled: How many values ``samples`` looks at.
        database: Path of the SQLite database it is; None for anything else.
    """

    def __init__(self, stream: BinaryIO, name: str, path: str | None = None) -> None:
        self.name = name
        self.database: str | None = None
        self.problem: Problem | None = None
        self.sampled = MAX_SAMPLES
        self._head = b""
        self._stream: BinaryIO = io.BytesIO()
        self._peeked: list[Value | Problem] = []
        self._values: Iterator[Value | Problem] | None = None
        fault = ""
        try:
            self._head, self._stream = unpack(stream)
        except READ_ERRORS as error:
            fault = damage(error)
        if self._head.startswith(_DATABASE):
            fault, self.database = _database(path)
        fault = fault or unreadable(self._head)
        if self.database is not None:
            self._head, self._stream = b"", io.BytesIO()  # a database has no text
        elif fault:
            self.problem = Problem(Where(name), fault)

    @property
    def head(self) -> str:
        """The beginning as text, for telling the format."""
        return self._head.removeprefix(BOM).decode("utf-8", "replace")

    def samples(self) -> Iterator[object]:
        """The first few JSON values, read as they are asked for; ``values`` gives all the same."""
        for position in range(self.sampled):
            if position >= len(self._peeked) and not self._peek():
                return
            item = self._peeked[position]
            if isinstance(item, Value):
                yield item.value

    def _peek(self) -> bool:
        if self._values is None:
            self._values = self._read_values()
        item = next(self._values, None)
        if item is not None:
            self._peeked.append(item)
        return item is not None

    def _read_values(self) -> Iterator[Value | Problem]:
        if arrays.is_long(self._head):
            return arrays.elements(self._stream, self.name)
        return read_values(self.lines(), self.name)

    def lines(self) -> Lines:
        """All lines; not to be mixed with ``samples`` and ``values``."""
        return read_lines(self._stream, self.name)

    def values(self) -> Iterator[Value | Problem]:
        """All values of a JSONL file or of a long array, or the one of a JSON document."""
        while self._peeked or self._peek():
            yield self._peeked.pop(0)


def _database(path: str | None) -> tuple[str, str | None]:
    """Why a database cannot be read, or its path: it is read in pages, not from front to back."""
    if path is None:
        return "is an SQLite database; give it as a file, it cannot be read as a stream", None
    with open(path, "rb") as file:
        plain = file.read(len(_DATABASE)) == _DATABASE
    return ("", path) if plain else ("is a zipped SQLite database; unpack it first", None)
