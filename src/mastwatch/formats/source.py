"""One input as the formats see it: its beginning, its lines, its JSON values.

It is held in memory one record at a time: a line of JSONL, or a whole JSON document.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import BinaryIO

from mastwatch.formats.json_values import Value, read_values
from mastwatch.formats.lines import BOM, READ_ERRORS, Lines, damage, read_lines, unpack, unreadable
from mastwatch.formats.recorded import Problem, Where

_SAMPLES = 8  # values looked at to tell the format; a few broken ones may come first


class Source:
    """One input, read once from front to back.

    Args:
        stream: Bytes, plain or gzip; it is not closed.
        name: How positions call it.

    Attributes:
        problem: Why nothing can be read from it; None when something may.
    """

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self.name = name
        self.problem: Problem | None = None
        self._head = b""
        self._stream: BinaryIO = io.BytesIO()
        self._peeked: list[Value | Problem] = []
        self._values: Iterator[Value | Problem] | None = None
        fault = ""
        try:
            self._head, self._stream = unpack(stream)
        except READ_ERRORS as error:
            fault = damage(error)
        fault = fault or unreadable(self._head)
        if fault:
            self.problem = Problem(Where(name), fault)

    @property
    def head(self) -> str:
        """The beginning as text, for telling the format."""
        return self._head.removeprefix(BOM).decode("utf-8", "replace")

    def samples(self) -> Iterator[object]:
        """The first few JSON values, read as they are asked for; ``values`` gives all the same."""
        for position in range(_SAMPLES):
            if position >= len(self._peeked) and not self._peek():
                return
            item = self._peeked[position]
            if isinstance(item, Value):
                yield item.value

    def _peek(self) -> bool:
        if self._values is None:
            self._values = read_values(self.lines(), self.name)
        item = next(self._values, None)
        if item is not None:
            self._peeked.append(item)
        return item is not None

    def lines(self) -> Lines:
        """All lines; not to be mixed with ``samples`` and ``values``."""
        return read_lines(self._stream, self.name)

    def values(self) -> Iterator[Value | Problem]:
        """All JSON values of a JSONL file, or the one value of a JSON document."""
        while self._peeked or self._peek():
            yield self._peeked.pop(0)
