"""Putting together what belongs to one trace and stands scattered over a file."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from mastwatch.formats.recorded import Problem, Read, RecordedRun, Where

MAX_KEPT = 64 * 2**20
"""Size of what is kept at once, in characters; beyond it the trace that has been quiet for longest
is taken to be whole."""
_ID_SHOWN = 40
_MAX_CUT = 10_000  # traces remembered to have been given already

T = TypeVar("T")


@dataclass(slots=True)
class Trace(Generic[T]):
    """What was found of one trace.

    Attributes:
        id: Its id.
        where: Where its first part stands.
        parts: In the order of the file.
        size: Of all parts.
        resumed: Parts of it were given before: it was quiet for too long.
    """

    id: str
    where: Where
    parts: list[T] = field(default_factory=list)
    size: int = 0
    resumed: bool = False


class Gathering(Generic[T]):
    """Collects parts by trace."""

    def __init__(self) -> None:
        self._traces: OrderedDict[str, Trace[T]] = OrderedDict()
        self._given: OrderedDict[str, None] = OrderedDict()
        self._size = 0

    def add(self, trace_id: str, part: T, size: int, where: Where) -> Iterator[Trace[T]]:
        """Take in one part; gives traces for which there is no more room."""
        trace = self._traces.get(trace_id)
        if trace is None:
            resumed = trace_id in self._given
            trace = self._traces[trace_id] = Trace(trace_id, where, resumed=resumed)
        self._traces.move_to_end(trace_id)
        trace.parts.append(part)
        trace.size += size
        self._size += size
        while self._size > MAX_KEPT and len(self._traces) > 1:
            yield self._give(next(iter(self._traces)))

    def rest(self) -> Iterator[Trace[T]]:
        """Gives all that is left."""
        while self._traces:
            yield self._give(next(iter(self._traces)))

    def _give(self, trace_id: str) -> Trace[T]:
        trace = self._traces.pop(trace_id)
        self._size -= trace.size
        self._given[trace_id] = None
        if len(self._given) > _MAX_CUT:
            self._given.popitem(last=False)
        return trace


def size_of(value: object) -> int:
    """Characters in a JSON value, about."""
    size, left = 0, [value]
    while left:
        item = left.pop()
        if isinstance(item, str):
            size += len(item)
        elif isinstance(item, dict):
            size += sum(map(len, item)) + 64
            left.extend(item.values())
        elif isinstance(item, list):
            left.extend(item)
        else:
            size += 8
    return size


def told_by_trace(
    parts: Iterator[Problem | tuple[str, T, int, Where]],
    tell: Callable[[Trace[T]], Iterator[RecordedRun]],
    file: str,
) -> Iterator[Read]:
    """Tell the runs of a file trace by trace.

    Args:
        parts: Trace id, part, size and place of each; what cannot be read.
        tell: Gives the runs of one trace.
        file: Its name.
    """
    gathering: Gathering[T] = Gathering()
    traces = runs = 0

    def each() -> Iterator[Problem | Trace[T]]:
        for part in parts:
            if isinstance(part, Problem):
                yield part
            else:
                yield from gathering.add(*part)
        yield from gathering.rest()

    for found in each():
        if isinstance(found, Problem):
            yield found
            continue
        traces += 1
        if found.resumed:
            text = (
                f"trace {found.id[:_ID_SHOWN]} goes on far behind its beginning; read as two runs"
            )
            yield Problem(found.where, text)
        for run in tell(found):
            runs += 1
            yield run
    if traces and not runs:
        text = f"none of its {traces} traces tells of an agent, a model or a tool"
        yield Problem(Where(file), text)
