"""Scripted models: what stands where the LLM would stand, offline and the same every time.

Like a real model a scripted one remembers nothing. It sees a request, counts how many answers of
its own are in there, and gives the next line of its script. An agent that loses its history
therefore starts over because the history is gone, not because a script says so.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

_pace = 0.2
_call_ids = itertools.count(1)
_times: Counter[tuple[str, ...]] = Counter()


def set_pace(seconds: float) -> None:
    """Set how long a model takes to answer; a tool takes half of it."""
    global _pace
    _pace = seconds


def think() -> None:
    """Take as long as a model does."""
    time.sleep(_pace)


def work() -> None:
    """Take as long as a tool does."""
    time.sleep(_pace / 2)


@dataclass(frozen=True)
class Call:
    """A line of a script that calls a tool instead of speaking."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def new_id(self) -> str:
        """Make the provider's id of this call."""
        return f"call_{next(_call_ids):04d}"


Line: TypeAlias = str | Call | tuple[str, ...]
"""What a model says; several texts are wordings of the same, taken in turn as it says it again."""
Script: TypeAlias = Sequence[Line] | Mapping[str, Sequence[Line]]
"""The lines, first to last; or several lists, chosen by a word that stands in the question."""


def next_line(script: Script, said: int, question: str) -> str | Call:
    """Choose the line that a model says next.

    Args:
        script: All it can say. After the last line it says that one again.
        said: How many of its answers it sees in the request.
        question: The first thing it was asked; chooses the list where there are several.
    """
    lines = script if not isinstance(script, Mapping) else _topic(script, question)
    line = lines[min(said, len(lines) - 1)]
    if not isinstance(line, tuple):
        return line
    _times[line] += 1
    return line[(_times[line] - 1) % len(line)]


def _topic(script: Mapping[str, Sequence[Line]], question: str) -> Sequence[Line]:
    asked = question.lower()
    for word, lines in script.items():
        if word in asked:
            return lines
    return next(iter(script.values()))


def count_tokens(texts: Sequence[str]) -> int:
    """Guess what a provider would bill: four tokens for three words."""
    return sum(len(text.split()) for text in texts) * 4 // 3
