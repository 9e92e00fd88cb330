"""Long runs in parts: every row is shown whole in some window, and that is counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from mastwatch.judge.render import Piece, about, one_line, pieces
from mastwatch.store import Trace

BYTES_PER_TOKEN = 3.0
"""UTF-8 bytes to a token, on the low side: no tokenizer is needed, and no script underrated."""
OVERLAP = 2
"""Pieces at the end of a window that begin the next one."""
LAST_ROWS = 5
"""Rows at the end of the run that every window's outline holds."""
_ABOUT_SHARE, _OUTLINE_SHARE = 0.2, 0.2
_OVERLAP_SHARE = 0.25


def tokens(text: str, correction: float = 1.0) -> int:
    """Estimate the tokens of a text.

    Args:
        text: The text.
        correction: Learned from what servers reported for earlier texts.
    """
    size = len(text.encode("utf-8", "surrogatepass"))
    return int(size / BYTES_PER_TOKEN * correction) + 1


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a run that fits into one question.

    Attributes:
        about: What is known of the run as a whole.
        outline: One line per row of the whole run; empty where the window is the whole run.
        pieces: The rows shown whole.
    """

    about: str
    outline: str
    pieces: tuple[Piece, ...]

    @property
    def rows(self) -> str:
        """The shown rows."""
        return "\n".join(piece.text for piece in self.pieces)


def plan(trace: Trace, budget: int, correction: float = 1.0) -> list[Window]:
    """Cut a run into windows.

    Args:
        trace: The run.
        budget: Tokens that a window may take, instructions and reply not counted.
        correction: See ``tokens``.
    """
    chars = int(budget * BYTES_PER_TOKEN / correction)
    known = _fitting(about, trace, int(chars * _ABOUT_SHARE))
    left = budget - tokens(known, correction)
    shown = list(pieces(trace, _piece_chars(chars)))
    if sum(tokens(piece.text, correction) + 1 for piece in shown) <= left:
        return [Window(known, "", tuple(shown))]
    outline = _fitting(skeleton, trace, int(chars * _OUTLINE_SHARE))
    left -= tokens(outline, correction)
    return [Window(known, outline, part) for part in _parts(shown, max(left, 1), correction)]


def _fitting(write: Callable[[Trace, int], str], trace: Trace, size: int) -> str:
    """What is written of a run within so many bytes; a character takes one to four of them."""
    text = write(trace, size)
    taken = len(text.encode("utf-8", "surrogatepass"))
    return text if taken <= size else write(trace, size * len(text) // taken)


def around(
    trace: Trace, rows: Sequence[int], whole: Window, budget: int, correction: float = 1.0
) -> Window:
    """A window of the rows of interest and their neighbours, as many as fit.

    Args:
        trace: The run.
        rows: Rows of interest.
        whole: A window of the run, for what all windows share.
        budget: Tokens that the window may take.
        correction: See ``tokens``.
    """
    left = budget - tokens(whole.about, correction) - tokens(whole.outline, correction)
    chars = _piece_chars(int(budget * BYTES_PER_TOKEN / correction))
    shown = list(pieces(trace, chars))
    wanted = set(rows)
    order = sorted(shown, key=lambda piece: min(abs(piece.index - row) for row in wanted))
    taken: set[tuple[int, int]] = set()
    for piece in order:
        left -= tokens(piece.text, correction) + 1
        if left < 0 and taken:
            break
        taken.add((piece.index, piece.part))
    kept = tuple(piece for piece in shown if (piece.index, piece.part) in taken)
    return Window(whole.about, whole.outline, kept)


def coverage(trace: Trace, windows: Sequence[Window]) -> float:
    """Share of the run's rows that the windows show whole, 0 to 1; rows never kept count too."""
    total = len(trace.rows) + trace.left_out
    if not total:
        return 0.0
    seen = {(piece.index, piece.part) for window in windows for piece in window.pieces}
    parts = {piece.index: piece.parts for window in windows for piece in window.pieces}
    whole = sum(
        all((index, part) in seen for part in range(1, count + 1)) for index, count in parts.items()
    )
    return whole / total


def _piece_chars(chars: int) -> int:
    # A row may take a quarter of a window; bars and wide characters make it up to four times as
    # long in bytes.
    return max(400, chars // 16)


def _parts(shown: Sequence[Piece], left: int, correction: float) -> Iterator[tuple[Piece, ...]]:
    sizes = [tokens(piece.text, correction) + 1 for piece in shown]
    start = 0
    while start < len(shown):
        end, used = start, 0
        while end < len(shown) and (used + sizes[end] <= left or end == start):
            used += sizes[end]
            end += 1
        yield tuple(shown[start:end])
        if end == len(shown):
            return
        start = max(_again_from(sizes, start, end, left), start + 1)


def _again_from(sizes: Sequence[int], start: int, end: int, left: int) -> int:
    """Where the next window begins: a little before the end of this one, unless rows are long."""
    at = end
    while at > max(start, end - OVERLAP) and sum(sizes[at - 1 : end]) <= left * _OVERLAP_SHARE:
        at -= 1
    return at


def skeleton(trace: Trace, chars: int) -> str:
    """A run in a line per row; of a long one its beginning, its end, and how many lie between."""
    lines = [one_line(row) for row in trace.rows]
    size = sum(len(line) + 1 for line in lines)
    if size <= chars:
        return "\n".join(lines)
    tail: list[str] = lines[-LAST_ROWS:]
    head: list[str] = []
    used = sum(len(line) + 1 for line in tail)
    for line in lines[:-LAST_ROWS]:
        if used + len(line) > chars:
            break
        head.append(line)
        used += len(line) + 1
    between = len(lines) - len(head) - len(tail)
    return "\n".join([*head, f"({between} rows are left out of this outline)", *tail])
