"""Where in a message a quote stands, so that the page can mark it.

Quotes were checked in a normal form (``judge.evidence``); here they are found again in the text as
it was said. What cannot be found is not marked: its link leads to the message.
"""

from __future__ import annotations

import re
import unicodedata

from mastwatch.judge.evidence import normal
from mastwatch.judge.render import visible

_SKIPPED = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|(?<=\n)\| ?")
"""Sequences the normal form leaves out: of terminals, and the margin before the judge's lines."""


class Said:
    """A message in its normal form, with the way back.

    Args:
        text: As it was said.
    """

    def __init__(self, text: str) -> None:
        self._folded: list[str] = []
        self._begin: list[int] = []
        self._end: list[int] = []
        at = 0
        for gap in _SKIPPED.finditer(text):
            self._take(text, at, gap.start())
            at = gap.end()
        self._take(text, at, len(text))
        self._text = "".join(self._folded)

    def find(self, quote: str) -> tuple[int, int] | None:
        """Begin and end of a quote in the text as it was said, or None."""
        sought = normal(quote.strip().strip("\"'“”«»"))
        at = self._text.find(sought) if sought else -1
        return None if at < 0 else (self._begin[at], self._end[at + len(sought) - 1])

    def _take(self, text: str, at: int, until: int) -> None:
        while at < until:
            after = at + 1
            # A letter and its accents are one: the normal form composes them.
            while after < until and unicodedata.combining(text[after]):
                after += 1
            seen = text[at:after]
            if not seen.isprintable():
                seen = visible(seen)
            for char in unicodedata.normalize("NFKC", seen).casefold():
                self._put(" " if char.isspace() else char, at, after)
            at = after

    def _put(self, char: str, begin: int, end: int) -> None:
        if char == " " and self._folded and self._folded[-1] == " ":
            return
        self._folded.append(char)
        self._begin.append(begin)
        self._end.append(end)
