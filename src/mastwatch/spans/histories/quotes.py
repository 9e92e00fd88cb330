"""Finding an answer of one agent in what another one is sent."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from dataclasses import dataclass
from typing import Generic, TypeVar

MIN_CHARACTERS = 20
"""Shorter answers are said by many: they tie nothing together."""
MAX_OPENINGS = 2_048
MAX_ALIKE = 8
"""Answers kept that begin alike."""
MAX_WORDS = 4_096
"""Of an answer and of a message that are looked at."""
_OPENING = 4

_Mark = TypeVar("_Mark")


@dataclass(frozen=True, slots=True)
class _Answer(Generic[_Mark]):  # a generic NamedTuple needs Python 3.11
    first: int
    words: int
    digest: int
    mark: _Mark


class Quotes(Generic[_Mark]):
    """Recent answers by the digests of their words, each with a mark; the caller locks.

    >>> quotes = Quotes[str]()
    >>> quotes.add("The capital of France is Paris.", "run-1")
    >>> quotes.find("Review this: The capital of  France is Paris. Is it right?")
    [['run-1']]
    """

    def __init__(self) -> None:
        self._openings: OrderedDict[int, deque[_Answer[_Mark]]] = OrderedDict()
        # First words of the openings: most words of a text begin none, which is soon told so.
        self._firsts: Counter[int] = Counter()

    def clear(self) -> None:
        """Forget all answers."""
        self._openings.clear()
        self._firsts.clear()

    def add(self, text: str, mark: _Mark) -> None:
        """Note an answer; a short one is left out."""
        words = _words(text)
        if not words:
            return
        first, opening = hash(words[0]), hash(tuple(words[:_OPENING]))
        alike = self._openings.get(opening)
        if alike is None:
            alike = self._openings[opening] = deque(maxlen=MAX_ALIKE)
            self._firsts[first] += 1
        alike.append(_Answer(first, len(words), hash(tuple(words)), mark))
        self._openings.move_to_end(opening)
        if len(self._openings) > MAX_OPENINGS:
            _, oldest = self._openings.popitem(last=False)
            first = oldest[0].first
            self._firsts[first] -= 1
            if not self._firsts[first]:
                del self._firsts[first]

    def find(self, text: str) -> list[list[_Mark]]:
        """Find the answers that a text holds word for word.

        Returns:
            For each, in the order of the text, the marks it was given, oldest first.
        """
        words = _words(text)
        found: list[list[_Mark]] = []
        start = 0
        while start < len(words):
            length = 1
            if hash(words[start]) in self._firsts:
                length, marks = self._at(words, start)
                if marks:
                    found.append(marks)
            start += length
        return found

    def _at(self, words: list[str], start: int) -> tuple[int, list[_Mark]]:
        # A script without spaces, or a long address, makes an answer of fewer words.
        for size in range(min(_OPENING, len(words) - start), 0, -1):
            alike = self._openings.get(hash(tuple(words[start : start + size])), ())
            for longest in sorted({answer.words for answer in alike}, reverse=True):
                digest = hash(tuple(words[start : start + longest]))
                marks = [answer.mark for answer in alike if answer.digest == digest]
                if marks:
                    return longest, marks
        return 1, []


def _words(text: str) -> list[str]:
    # Cut before it is split: a message may be a whole book.
    words = text[: MAX_WORDS * 16].split()[:MAX_WORDS]
    return words if len(text.strip()) >= MIN_CHARACTERS else []
