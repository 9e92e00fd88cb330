"""Which numbers of a run are new, and which its latest work gave."""

from __future__ import annotations

import re
from zlib import crc32

from mastwatch.signals import text as texts

NUMBERS_KEPT = 256
OUTCOME_NUMBERS = 64

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


class Numbers:
    """The numbers a run has met, and those that its latest work gave.

    Work is a tool's result, or a message with a number that is new. What the task gave is no
    outcome of work. After ``NUMBERS_KEPT`` numbers all are forgotten.
    """

    __slots__ = ("_found", "_given", "_met")

    def __init__(self) -> None:
        self._met: set[int] = set()
        self._given: set[int] = set()
        self._found: set[int] = set()

    def give(self, text: str) -> None:
        """Take in the task."""
        self._given = _numbers(text)
        self._met |= self._given

    def result(self, text: str) -> None:
        """Take in what a tool gave."""
        numbers = _numbers(text)
        self._meet(numbers)
        if numbers:
            self._found = self._outcome(numbers)

    def add(self, text: str) -> tuple[int, bool]:
        """Take in a message; return how many numbers are new, and if the latest work's is there."""
        numbers = _numbers(text)
        known = not numbers.isdisjoint(self._found)
        fresh = self._meet(numbers)
        if fresh:
            self._found = self._outcome(numbers)
        return fresh, known

    def _outcome(self, numbers: set[int]) -> set[int]:
        # A whole table is nothing that somebody states again.
        return numbers - self._given if len(numbers) <= OUTCOME_NUMBERS else set()

    def _meet(self, numbers: set[int]) -> int:
        met = self._met
        before = len(met)
        met |= numbers
        fresh = len(met) - before
        if len(met) > NUMBERS_KEPT:
            met.clear()
        return fresh


def _numbers(text: str) -> set[int]:
    found = set(_NUMBER.findall(text[: texts.TEXT_CAP]))
    return {crc32((n if n.isdigit() else _canonical(n)).encode()) for n in found}


def _canonical(number: str) -> str:
    digits = number.replace(",", "")
    return digits.rstrip("0").rstrip(".") if "." in digits else digits
