"""The parts of a run that attribution shows to a model, each within what the model can read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mastwatch.judge.learned import Learned
from mastwatch.judge.render import NAME_CHARS, Piece, visible
from mastwatch.judge.settings import JudgeSettings
from mastwatch.judge.windows import Window, around, plan, skeleton, tokens
from mastwatch.store import Trace

_INSTRUCTIONS = 1_500
"""Tokens that the longest instructions of ours take, the frame included."""
_LEAST_WINDOW = 1_000
_OUTLINE_CHARS = 12_000
"""Of the outline around the rows that are checked, where the run itself is short enough to fit."""


class Views:
    """Cuts a run into what can be shown of it.

    Args:
        trace: The run.
        settings: What the model can read, and the longest reply.
        learned: Of the model.
    """

    def __init__(self, trace: Trace, settings: JudgeSettings, learned: Learned) -> None:
        self._trace = trace
        self._settings = settings
        self._learned = learned

    def whole(self) -> list[Window]:
        """The run, in as many windows as it takes."""
        return plan(self._trace, self._room(), self._learned.correction)

    def near(self, rows: Sequence[int]) -> Window:
        """Some rows whole, and an outline of all the others; fewer rows where they do not fit."""
        window = self.whole()[0]
        wanted = set(rows)
        near = around(self._trace, rows, window, self._room(), self._learned.correction)
        shown = tuple(piece for piece in near.pieces if piece.index in wanted)
        outline = near.outline or skeleton(self._trace, _OUTLINE_CHARS)
        return Window(near.about, outline, shown or near.pieces)

    def until(self, row: int) -> Window:
        """The run up to a row: nothing of what came later, the latest rows first to be whole."""
        past = [r for r in self._trace.rows if r.index <= row]
        return self._part(replace(self._trace, rows=tuple(past)), row)

    def segment(self, rows: Sequence[int]) -> Window:
        """Some rows and nothing else; those in the middle first to be whole."""
        wanted = set(rows)
        part = tuple(r for r in self._trace.rows if r.index in wanted)
        return self._part(replace(self._trace, rows=part), rows[len(rows) // 2])

    def halve(self, windows: Sequence[Window]) -> None:
        """It was too much for the model and its server did not say how much it reads."""
        longest = max(tokens(w.about) + tokens(w.outline) + tokens(w.rows) for w in windows)
        fixed = self._fixed()
        self._learned.context = max((fixed + longest) // 2, fixed + _LEAST_WINDOW)

    def _part(self, part: Trace, row: int) -> Window:
        windows = plan(part, self._room(), self._learned.correction)
        if len(windows) == 1:
            return windows[0]
        return around(part, [row], windows[0], self._room(), self._learned.correction)

    def _room(self) -> int:
        context = self._settings.context_tokens
        if self._learned.context is not None:
            context = min(context, self._learned.context)
        return max(context - self._fixed(), _LEAST_WINDOW)

    def _fixed(self) -> int:
        return int(_INSTRUCTIONS * self._learned.correction) + self._settings.reply_tokens


def unnumbered(window: Window, trace: Trace) -> Window:
    """A window whose rows bear names and no numbers, as the Who&When paper's prompts show them."""
    agents = {row.index: row.agent for row in trace.rows}
    return replace(
        window,
        pieces=tuple(
            replace(piece, text=_without_number(piece, agents[piece.index]))
            for piece in window.pieces
        ),
    )


def _without_number(piece: Piece, agent: str) -> str:
    name = " ".join(visible(agent).split())[:NAME_CHARS]
    return f"{name}:\n{piece.text.partition(chr(10))[2]}"
