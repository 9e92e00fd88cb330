"""Going through the messages of a run so that one broken row costs nothing but itself."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence

from mastwatch.formats import fields
from mastwatch.formats.recorded import Problem, Where
from mastwatch.formats.transcript import Row

_MAX_TOLD = 5  # a run with a thousand broken rows is told in a few lines


class RowProblems:
    """Collects what is wrong with one run's rows; the first few are told one by one."""

    def __init__(self, where: Where) -> None:
        self._where = where
        self._found: list[Problem] = []
        self._more = 0
        self._conclusion = ""

    def add(self, row: int | None, text: str) -> None:
        """Note a problem of a row, or of the run when ``row`` is None."""
        where = self._where if row is None else self._where.at_row(row)
        if len(self._found) < _MAX_TOLD:
            self._found.append(Problem(where, text))
        else:
            self._more += 1

    def conclude(self, text: str) -> None:
        """Say what follows for the whole run, however much was noted before."""
        self._conclusion = text

    def __bool__(self) -> bool:
        return bool(self._found)

    def found(self) -> Iterator[Problem]:
        """What was noted."""
        yield from self._found
        if self._more:
            yield Problem(self._where, f"{self._more} more problems in this run")
        if self._conclusion:
            yield Problem(self._where, self._conclusion)

    def indices(self, messages: Sequence[object]) -> list[int]:
        """The rows' own numbers where all are ascending, else their positions."""
        own = [
            fields.whole(message.get("index", position)) if isinstance(message, dict) else position
            for position, message in enumerate(messages)
        ]
        numbers = [number for number in own if number is not None]
        if len(numbers) == len(own) and all(a < b for a, b in itertools.pairwise(numbers)):
            return numbers
        self.add(None, "'index' does not ascend from row to row; rows are numbered by position")
        return list(range(len(messages)))


def read_rows(
    messages: Sequence[object],
    read: Callable[[int, Mapping[str, object]], Row | None],
    problems: RowProblems,
) -> list[Row | None]:
    """Read every message; a broken one becomes None and a Problem.

    Args:
        messages: As in the log.
        read: Reads one, given its position; raises Malformed.
        problems: Where faults are noted.
    """
    rows: list[Row | None] = []
    for position, message in enumerate(messages):
        row = None
        if not isinstance(message, dict):
            problems.add(position, f"is {fields.kind(message)}, not an object; skipped")
        else:
            try:
                row = read(position, message)
            except fields.Malformed as error:
                problems.add(position, f"{error}; skipped")
            except RecursionError:
                problems.add(position, "nested too deeply; skipped")
        rows.append(row)
    return rows


def all_broken(rows: Sequence[Row | None], problems: RowProblems) -> bool:
    """Whether a run is left without a message by its problems; one of thoughts only is not."""
    if any(rows) or not problems:
        return False
    problems.conclude("none of its messages can be read; the run is skipped")
    return True


def record_id(record: Mapping[str, object], where: Where) -> str:
    """The record's own id, else ``file name#position``."""
    own = fields.identity(record, "id") or fields.identity(record, "run_id")
    return own or position_id(where)


def position_id(where: Where) -> str:
    """``file name#position`` of a run without an id.

    >>> position_id(Where("logs/chat.jsonl", 3, 3))
    'chat.jsonl#3'
    """
    return f"{os.path.basename(where.file)}#{where.record or 1}"
