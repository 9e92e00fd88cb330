r"""Few-shot examples: judged runs in short, kept in a file and shown before every question.

They usually are corrections: runs on which people disagreed with the judge
(``mastwatch judge review import``). The file is JSONL, one example per line::

    {"run": "[#0 planner opener]\\n| ...", "verdicts": {"step_repetition": {"verdict": "present",
     "confidence": 1.0, "evidence": [{"msg": 4, "quote": "..."}], "why": "..."}}}

What is shown is bounded, and its digest is part of the prompt version on every report: other
examples, other figures.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from mastwatch.judge.prompt import Example
from mastwatch.judge.render import pieces
from mastwatch.judge.replies import Unreadable
from mastwatch.judge.schema import parse
from mastwatch.store import Trace

MAX_EXAMPLES = 8
"""Examples that are shown; the last ones of a file, which are the newest."""
MAX_CHARS = 24_000
"""Characters of all of them together."""
EXAMPLE_CHARS = 4_000
"""Characters of the rows of one that is made here."""
_NEIGHBOURS = 1


class BadExamples(ValueError):
    """A file with examples cannot be used; the message says where and why."""


@dataclass(frozen=True, slots=True)
class Examples:
    """Examples as they are shown.

    Attributes:
        shown: In the order of the file.
        left_out: How many of the file are not shown, for want of room.

    >>> Examples().suffix
    ''
    """

    shown: tuple[Example, ...] = ()
    left_out: int = 0

    @property
    def suffix(self) -> str:
        """What they add to the prompt version: a digest of what is shown."""
        if not self.shown:
            return ""
        told = json.dumps([[example.run, example.verdicts] for example in self.shown])
        return f"+ex{blake2b(told.encode(), digest_size=4).hexdigest()}"

    @classmethod
    def load(cls, path: str) -> Examples:
        """Read a file; without a path there are none.

        Raises:
            BadExamples: It cannot be read, or one of its lines is no example.
        """
        if not path:
            return cls()
        try:
            lines = Path(path).read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError) as error:
            raise BadExamples(f"{path}: cannot be read: {error}") from None
        found = [_read(line, f"{path}:{n}") for n, line in enumerate(lines, 1) if line.strip()]
        return cls.bounded(found)

    @classmethod
    def bounded(cls, found: Sequence[Example]) -> Examples:
        """The newest that fit."""
        room, kept = MAX_CHARS, 0
        for example in reversed(found[-MAX_EXAMPLES:]):
            room -= len(example.run) + len(example.verdicts)
            if room < 0:
                break
            kept += 1
        return cls(tuple(found[len(found) - kept :]), len(found) - kept)


def _read(line: str, where: str) -> Example:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise BadExamples(f"{where}: no JSON: {error}") from None
    run, verdicts = (
        (value.get("run"), value.get("verdicts")) if isinstance(value, dict) else (None, None)
    )
    if not isinstance(run, str) or not isinstance(verdicts, dict) or not verdicts:
        raise BadExamples(f"{where}: an example has 'run', a text, and 'verdicts', by mode")
    reply = json.dumps({"modes": verdicts}, ensure_ascii=False)
    read = parse(reply, list(verdicts))
    if isinstance(read, Unreadable) or read.malformed:
        wrong = "verdicts" if isinstance(read, Unreadable) else ", ".join(read.malformed)
        raise BadExamples(f"{where}: {wrong}: a verdict is present, absent or unsure")
    return Example(run=run, verdicts=reply)


def as_line(trace: Trace, verdicts: Mapping[str, Mapping[str, Any]]) -> str:
    """An example of a run and the right verdicts on it, as a line for the file.

    Of the run only the rows that the verdicts quote are kept, with their neighbours; without
    quotes the first rows and the last.

    Args:
        trace: The run.
        verdicts: By mode, as in the reply's schema.
    """
    quoted = {
        item["msg"] for verdict in verdicts.values() for item in verdict.get("evidence") or ()
    }
    return json.dumps({"run": _excerpt(trace, quoted), "verdicts": verdicts}, ensure_ascii=False)


def _excerpt(trace: Trace, rows: set[int]) -> str:
    numbers = [row.index for row in trace.rows]
    if not rows & set(numbers):
        rows = {*numbers[:2], *numbers[-2:]}
    at = [place for place, number in enumerate(numbers) if number in rows]
    near = {numbers[n] for place in at for n in _around(place, len(numbers))}
    shown = [p for p in pieces(trace, EXAMPLE_CHARS // 4) if p.part == 1 and p.index in near]
    # The quoted rows first: where there is no room for all, their neighbours are left out.
    room = EXAMPLE_CHARS
    kept: set[int] = set()
    for piece in sorted(shown, key=lambda p: p.index not in rows):
        room -= len(piece.text)
        if room >= 0 or not kept:
            kept.add(piece.index)
    return "\n".join(piece.text for piece in shown if piece.index in kept)


def _around(place: int, count: int) -> range:
    return range(max(0, place - _NEIGHBOURS), min(count, place + _NEIGHBOURS + 1))
