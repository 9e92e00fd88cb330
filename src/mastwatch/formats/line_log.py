"""Logs for people, read line by line: blocks that begin with a heading, and what is lost."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from mastwatch.formats.lines import Line
from mastwatch.formats.recorded import Problem, Where

Heading = TypeVar("Heading")
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_MAX_RANGES = 5
MAX_BLOCK = 64 * 2**20
"""Characters of a block that are kept."""


@dataclass(slots=True)
class Block(Generic[Heading]):
    """A heading, and the lines up to the next one.

    Attributes:
        line: Where it begins, from 1; 0 for what stands before the first heading.
        heading: What was recognised; None for what stands before the first heading.
        body: The lines that follow it.
    """

    line: int
    heading: Heading | None
    body: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The lines, without blank ones around them."""
        return "\n".join(self.body).strip("\n")


def blocks(
    lines: Iterator[Line | Problem], heading: Callable[[str], Heading | None], file: str
) -> Iterator[Block[Heading] | Problem]:
    """Cut a log at its headings; one block at a time is in memory.

    Args:
        lines: Of the log.
        heading: Recognises one in a line, colours removed; None for any other line.
        file: Its name.
    """
    block: Block[Heading] = Block(0, None)
    size = 0
    for item in lines:
        if isinstance(item, Problem):
            yield item
            continue
        text = plain(item.text)
        found = heading(text)
        if found is None:
            size += len(text) + 1
            if size <= MAX_BLOCK:
                block.body.append(text)
            elif size - len(text) - 1 <= MAX_BLOCK:
                told = f"more than {MAX_BLOCK // 2**20} MiB without a heading; left out from here"
                yield Problem(Where(file, item.number), told)
            continue
        size = 0
        if block.heading is not None or any(line.strip() for line in block.body):
            yield block
        block = Block(item.number, found)
    if block.heading is not None or any(line.strip() for line in block.body):
        yield block


def plain(text: str) -> str:
    r"""A line without the colours of a terminal.

    >>> plain("\x1b[33mPlanner\x1b[0m (to Coder):")
    'Planner (to Coder):'
    """
    return _ANSI.sub("", text) if "\x1b" in text else text


class Lost:
    """Lines of a run that belong to nothing; told together, by their numbers."""

    def __init__(self) -> None:
        self._ranges: list[tuple[int, int]] = []
        self._more = 0

    def add(self, first: int, lines: list[str]) -> None:
        """Note lines from a number on; blank ones are no loss."""
        for number, text in enumerate(lines, first):
            if text.strip():
                self._note(number)

    def _note(self, number: int) -> None:
        if self._ranges and number <= self._ranges[-1][1] + 1:
            self._ranges[-1] = (self._ranges[-1][0], number)
        elif len(self._ranges) < _MAX_RANGES:
            self._ranges.append((number, number))
        else:
            self._more += 1

    def found(self, file: str) -> Iterator[Problem]:
        """One problem for all of them, at the first."""
        if not self._ranges:
            return
        shown = ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in self._ranges)
        more = f" and {self._more} more" if self._more else ""
        word = "line" if shown.isdigit() and not more else "lines"
        be = "belongs" if word == "line" else "belong"
        text = f"{word} {shown}{more} {be} to no message; left out"
        yield Problem(Where(file, self._ranges[0][0]), text)
        self._ranges, self._more = [], 0
