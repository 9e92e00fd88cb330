"""Bytes of an input to lines of text: opening, gzip, decoding, with a Problem where it fails."""

from __future__ import annotations

import gzip
import io
import itertools
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, TypeAlias

from mastwatch.formats.recorded import Problem, Where

MAX_RECORD_BYTES = 256 * 1024 * 1024
"""A longer line (or one-document file) is skipped with a Problem."""
BOM = b"\xef\xbb\xbf"
READ_ERRORS = (OSError, EOFError, zlib.error)
HEAD_BYTES = 64 * 1024
"""The beginning of an input, by which its format is told."""

_ARCHIVES = {
    b"PK\x03\x04": "a zip archive",
    b"BZh": "a bzip2 file",
    b"\xfd7zXZ": "an xz file",
    b"(\xb5/\xfd": "a zstd file",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text, without its line break; ``number`` from 1."""

    number: int
    text: str


Lines: TypeAlias = Iterator[Line | Problem]


def read_lines(stream: BinaryIO, name: str) -> Lines:
    """All lines of a stream; what is not UTF-8 is replaced, and said once."""
    told = False
    for number in itertools.count(1):
        where = Where(name, number)
        try:
            raw, too_long = _read_line(stream)
        except READ_ERRORS as error:
            yield Problem(where, damage(error))
            return
        if too_long:
            yield Problem(where, f"longer than {MAX_RECORD_BYTES // 2**20} MiB; skipped")
            continue
        if not raw:
            return
        line, fault = _decode(raw.removeprefix(BOM) if number == 1 else raw, number)
        del raw  # a line may be long
        if fault and not told:
            told = True
            yield Problem(where, fault)
        yield line


def _read_line(stream: BinaryIO) -> tuple[bytes, bool]:
    raw = stream.readline(MAX_RECORD_BYTES + 1)
    too_long = len(raw) > MAX_RECORD_BYTES
    while too_long and raw and not raw.endswith(b"\n"):
        raw = stream.readline(HEAD_BYTES)
    return raw, too_long


def _decode(raw: bytes, number: int) -> tuple[Line, str]:
    try:
        return Line(number, raw.decode("utf-8").rstrip("\r\n")), ""
    except UnicodeDecodeError as error:
        text = raw.decode("utf-8", "replace").rstrip("\r\n")
        fault = f"not UTF-8 at byte {error.start + 1}; what cannot be decoded is replaced"
        return Line(number, text), f"{fault} (here and further on)"


class _Prefixed(io.RawIOBase):
    """A stream whose first bytes have been read already; closing it leaves the stream open."""

    def __init__(self, head: bytes, stream: BinaryIO) -> None:
        self._left = head
        self._rest = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if self._left:
            data, self._left = self._left[: len(buffer)], self._left[len(buffer) :]
        else:
            data = _some(self._rest, len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _some(stream: BinaryIO, size: int) -> bytes:
    # read1 does not wait for ``size`` bytes: a pipe is read as it fills.
    read1 = getattr(stream, "read1", None)
    return bytes(read1(size) if read1 is not None else stream.read(size))


def _head(stream: BinaryIO) -> bytes:
    """The first bytes; of an array as many as are looked at, for it is not read live anyway."""
    head = _some(stream, HEAD_BYTES)
    while head.removeprefix(BOM).lstrip()[:1] == b"[" and len(head) < HEAD_BYTES:
        more = _some(stream, HEAD_BYTES - len(head))
        if not more:
            break
        head += more
    return head


def unpack(stream: BinaryIO) -> tuple[bytes, BinaryIO]:
    """The first bytes and the whole stream, unzipped if it is gzip; the given one stays open."""
    head = _head(stream)
    plain = io.BufferedReader(_Prefixed(head, stream), HEAD_BYTES)
    if not head.startswith(b"\x1f\x8b"):
        return head, plain
    unzipped: BinaryIO = gzip.GzipFile(fileobj=plain)  # type: ignore[assignment]
    head = _head(unzipped)
    return head, io.BufferedReader(_Prefixed(head, unzipped), HEAD_BYTES)


def unreadable(head: bytes) -> str:
    """Why the content is no text at all; empty when it may be."""
    if not head:
        return "is empty"
    for magic, kind in _ARCHIVES.items():
        if head.startswith(magic):
            return f"is {kind}; unpack it first (gzip is read as it is)"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "is UTF-16; convert it to UTF-8 first"
    # A log that a crash filled up with NULs is still a log.
    json_like = head.removeprefix(BOM).lstrip().startswith((b"{", b"["))
    return "is binary, not a text log" if b"\0" in head and not json_like else ""


def damage(error: Exception) -> str:
    """What went wrong while reading, in words."""
    if isinstance(error, EOFError):
        return "the gzip data is cut off here; what came before is read"
    if isinstance(error, gzip.BadGzipFile | zlib.error):
        return f"the gzip data is damaged here ({error}); what came before is read"
    return f"cannot be read ({getattr(error, 'strerror', None) or error})"
