"""What the output of ``judge`` and ``attribute`` has in common: stream, files, totals, colours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from mastwatch.commands.report_folder import ReportFolder

BOLD, RED, DIM = "1", "1;31", "2"


class RunOutput:
    """Prints what was found of runs as it comes and writes their files.

    Args:
        stream: Where to.
        plain: One JSON object per line; else lines for people.
        folder: Files are written here, too; None for none.
        colour: ANSI colours, for people.
        say: Says on stderr what is no result.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        plain: bool,
        folder: Path | None,
        colour: bool,
        say: Callable[[str], None],
    ) -> None:
        self._stream = stream
        self._plain = plain
        self._files = ReportFolder(folder, say)
        self._colour = colour
        self._totals: Counter[str] = Counter()

    def _ink(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._colour else text

    def _line(self, text: str) -> None:
        encoding = self._stream.encoding or "utf-8"
        self._stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
