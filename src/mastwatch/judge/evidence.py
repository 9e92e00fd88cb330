"""Quotes are checked against the run, word for word: what was not said proves nothing."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from functools import cache

from mastwatch.judge.render import ELIDED, row_text, visible
from mastwatch.judge.replies import Quote
from mastwatch.store import Evidence, Trace

MIN_CHARS = 12
"""Shortest quote that counts; a character of a script without spaces counts as two."""
SIMILAR = 0.9
"""Similarity from which a quote is taken for a slip of the pen."""
MAX_NEAR_CHARS = 600
"""Longest quote that is looked for with slips in it."""
_FRAGMENT, _FRAGMENTS, _PLACES = 10, 4, 4
_WIDE = re.compile(
    r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]"
)
_MARGIN = re.compile(r"(^|\n)(?:\| ?)+")
_COMPARISONS = (
    40  # of a quote with places that resemble it: what a liar can make us work is bounded
)


def normal(text: str) -> str:
    r"""What two ways of writing the same words have in common: NFKC, case, spaces.

    >>> normal("The  \ufb01rst\n| line") == normal("the first line")
    True
    """
    text = _MARGIN.sub(r"\1", visible(text))
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


class Rows:
    """The texts of a run that may be quoted.

    Args:
        trace: The run.
    """

    def __init__(self, trace: Trace) -> None:
        self._raw: Mapping[int, str] = {row.index: row_text(row) for row in trace.rows}
        # All of them are looked through for a quote that is in none: no larger than the run.
        self._normal = cache(lambda index: normal(self._raw[index]))

    def check(self, quote: Quote) -> Evidence | None:
        """Find a quote.

        Returns:
            Where it stands: ``verified`` in the row it names, ``repaired`` elsewhere or with a slip
            in it; None when the run holds nothing like it.
        """
        text = quote.text.strip().strip("\"'“”«»")
        sought = normal(text)
        if len(sought) + len(_WIDE.findall(sought)) < MIN_CHARS:
            return None
        index = quote.index
        if index is not None and index in self._raw and sought in self._normal(index):
            return Evidence(message_index=index, quote=self._as_said(index, text))
        for other in self._nearest_first(index):
            if sought in self._normal(other):
                said = self._as_said(other, text)
                return Evidence(message_index=other, quote=said, status="repaired")
        # No row holds what spans an elision. A row that imitates its mark was found above.
        return None if ELIDED.search(text) else self._near(index, sought)

    def _as_said(self, index: int, text: str) -> str:
        """A quote without the bars that were copied with it."""
        return text if text in self._raw[index] else _MARGIN.sub(r"\1", text)

    def _nearest_first(self, index: int | None) -> Sequence[int]:
        if index is None:
            return list(self._raw)
        return sorted(self._raw, key=lambda other: abs(other - index))

    def _near(self, index: int | None, sought: str) -> Evidence | None:
        if len(sought) > MAX_NEAR_CHARS:
            return None
        left = [_COMPARISONS]
        for other in self._nearest_first(index):
            words = _alike(sought, self._normal(other), left)
            if words:
                return Evidence(message_index=other, quote=words, status="repaired")
        return None


def _alike(sought: str, text: str, left: list[int]) -> str:
    """The words of a text that a quote nearly repeats, or nothing.

    Only places that share a fragment with the quote are compared, and only while some of the
    comparisons in ``left`` are left.
    """
    match = SequenceMatcher(None, b=sought, autojunk=False)
    step = max(1, (len(sought) - _FRAGMENT) // _FRAGMENTS)
    for start in range(0, max(1, len(sought) - _FRAGMENT + 1), step):
        fragment = sought[start : start + _FRAGMENT]
        at = text.find(fragment)
        for _ in range(_PLACES):
            if at < 0 or not left[0]:
                break
            begin = max(0, at - start)
            window = text[begin : begin + len(sought)]
            match.set_seq1(window)
            left[0] -= 1
            if match.quick_ratio() >= SIMILAR and match.ratio() >= SIMILAR:
                return window
            at = text.find(fragment, at + 1)
    return ""
