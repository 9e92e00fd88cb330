"""A long JSON array of runs, read one element at a time.

Programs write their runs with one ``json.dump`` of a list, on one line of any length. Such a file
is cut at the elements of the array; a broken one costs only itself. A list of messages is one run,
and read as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from mastwatch.formats.json_values import Value, parse
from mastwatch.formats.lines import BOM, HEAD_BYTES, MAX_RECORD_BYTES, READ_ERRORS, damage
from mastwatch.formats.recorded import Problem, Where

_CHUNK = 256 * 1024
# A whole string, a bracket, or the quote of a string that goes on beyond what has been read.
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}:"]', re.DOTALL)
_BETWEEN = re.compile(rb"[\s,]*")
_OPEN, _CLOSE = b"[{", b"]}"
_OF_MESSAGES = frozenset({b'"role"', b'"content"', b'"lc"', b'"data"'})


def is_long(head: bytes) -> bool:
    """Whether a file begins a long array of runs.

    Args:
        head: Its beginning; what is shorter than ``HEAD_BYTES`` is no long file.
    """
    head = head.removeprefix(BOM)
    if len(head) < HEAD_BYTES - len(BOM) or not re.match(rb"\s*\[\s*[\[{]", head):
        return False
    depth = 0
    name = b""
    for found in _TOKEN.finditer(head):
        token = found[0]
        if token in _OPEN:
            depth += 1
        elif token in _CLOSE:
            depth -= 1
            if depth == 1:
                return b"\n" not in head[: found.end()].strip() or not _is_line(head)
        elif token == b":" and depth == 2 and name in _OF_MESSAGES:
            return False
        elif token != b":":
            name = token
    return name != b""


def _is_line(head: bytes) -> bool:
    """Whether the first line is an array by itself: such a file has a run in each line."""
    first, ended, _ = head.lstrip().partition(b"\n")
    return bool(ended) and first.rstrip().endswith(b"]") and first.strip() != b"["


def elements(stream: BinaryIO, name: str) -> Iterator[Value | Problem]:
    """The elements of the array that a stream holds."""
    told = False
    for number, raw in enumerate(_cut(stream), 1):
        where = Where(name, None, number)
        if isinstance(raw, str):
            yield Problem(where, raw)
            continue
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError:
            text = raw.decode("utf-8", "replace")
            if not told:
                told = True
                yield Problem(where, "not UTF-8; what cannot be decoded is replaced")
        yield from parse(text, where)


def _cut(stream: BinaryIO) -> Iterator[bytes | str]:
    """The bytes of each element, or why it is none."""
    splitter = _Splitter()
    size = _CHUNK
    while not splitter.done:
        try:
            more = stream.read(size)
        except READ_ERRORS as error:
            yield damage(error)
            return
        if not more:
            break
        before = splitter.cuts
        yield from splitter.feed(more)
        # A long element is searched anew with each chunk: these grow with it.
        size = _CHUNK if splitter.cuts > before else min(size * 2, MAX_RECORD_BYTES)
    yield from splitter.end()


class _Splitter:
    """Cuts an array at its elements, whatever is in them.

    Attributes:
        cuts: Elements so far.
        done: The array is over.
    """

    def __init__(self) -> None:
        self.cuts = 0
        self.done = False
        self._buffer = b""
        self._at = 0  # all before has been searched
        self._from = 0  # where the present element begins, or the gap before it
        self._depth = 0  # 1: between the elements
        self._too_long = False

    def feed(self, more: bytes) -> Iterator[bytes | str]:
        """Search what has been read; gives the elements that are whole."""
        self._buffer = self._buffer[self._from :] + more
        self._at -= self._from
        self._from = 0
        for found in _TOKEN.finditer(self._buffer, self._at):
            token = found[0]
            if token == b'"':
                self._at = found.start()
                self._forget_string()
                break
            self._at = found.end()
            if token in _OPEN:
                yield from self._opened(found.start())
            elif token in _CLOSE:
                yield from self._closed(found.start())
                if self.done:
                    return
        if self._depth > 1 and self._at - self._from > MAX_RECORD_BYTES:
            self._too_long = True
        if self._too_long:
            self._from = self._at

    def _forget_string(self) -> None:
        """Of a string that is too long nothing is kept but that it has not ended."""
        if self._depth > 1 and len(self._buffer) - self._from > MAX_RECORD_BYTES:
            self._too_long = True
            slashes = len(self._buffer) - len(self._buffer.rstrip(b"\\"))
            self._buffer = b'"' + b"\\" * (slashes % 2)
            self._at = self._from = 0

    def _opened(self, at: int) -> Iterator[str]:
        if self._depth == 1:
            yield from self._gap(at)
            self._from = at
        self._depth += 1
        if self._depth == 1:
            self._from = at + 1

    def _closed(self, at: int) -> Iterator[bytes | str]:
        self._depth -= 1
        if self._depth == 0:
            yield from self._gap(at)
            self.done = True
        elif self._depth == 1:
            self.cuts += 1
            if self._too_long:
                self._too_long = False
                yield f"longer than {MAX_RECORD_BYTES // 2**20} MiB; skipped"
            else:
                yield self._buffer[self._from : at + 1]
            self._from = at + 1

    def _gap(self, until: int) -> Iterator[str]:
        gap = self._buffer[self._from : until]
        if not _BETWEEN.fullmatch(gap):
            self.cuts += 1
            yield "is no object; skipped"

    def end(self) -> Iterator[bytes | str]:
        """What is left when the file is over before the array."""
        if self.done:
            return
        left = self._buffer[self._from :]
        if self._depth > 1 and not self._too_long:
            yield left
        else:
            yield "the array is cut off here; what came before is read"
