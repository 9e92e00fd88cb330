"""The lines of one message in a log for people: as many as are kept."""

from __future__ import annotations

MAX_TEXT = 16 * 2**20
"""Characters of one message; what is beyond is left out, and told."""


class Body:
    """Collects the lines of a message.

    Attributes:
        lines: Those that are kept.
        cut: Some are not.
    """

    __slots__ = ("_size", "cut", "lines")

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.cut = False
        self._size = 0

    def add(self, line: str) -> None:
        """Take in the next line."""
        self._size += len(line) + 1
        if self._size > MAX_TEXT:
            self.cut = True
        else:
            self.lines.append(line)

    @property
    def fault(self) -> str:
        """What to tell of it; empty when all is there."""
        return f"a message of more than {MAX_TEXT // 2**20} MiB; its end is left out" * self.cut
