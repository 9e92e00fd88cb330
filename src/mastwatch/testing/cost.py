"""What a detector takes: memory that does not grow with the run, time beside the signals'."""

from __future__ import annotations

import gc
import statistics
import time
import tracemalloc
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count, islice

from mastwatch.events import (
    Event,
    HandedOff,
    MessageSent,
    ModelCalled,
    RequestMessage,
    RunFinished,
    ToolCalled,
    ToolReturned,
)
from mastwatch.signals import Signals
from mastwatch.testing.trial import OWN, Step, Subject, wants

LENGTH = 100_000
"""Events of the run that memory is measured over."""
OWN_SHARE = 5
"""The author's own run is repeated for one such part of it."""
GROWTH = 64 * 1024
"""Bytes by which detector and signals may grow after the first tenth of it."""
BUDGET = 2.0
"""Time of ``observe`` per event at most, in times of what ``Signals.update`` takes."""
TIMED = 2_000
"""Events of it that time is measured over."""


def endless() -> Iterator[Event]:
    """A run that never ends and always brings new texts, calls, tools and agents."""
    row = 0
    run = "endless"
    while True:
        agent = f"guest-{row}" if row % 11 == 0 else f"agent-{row % 7}"
        said = f"Part {row} lists berth {row * 7 % 9_973} and lamp w{row * 31 % 5_003} here."
        yield MessageSent(run_id=run, index=row, sender=agent, text=said)
        tool = f"tool-{row}" if row % 13 == 0 else f"look_{row % 5}"
        yield ToolCalled(run_id=run, index=row, agent=agent, name=tool, arguments={"berth": row})
        failed = "ValueError" if row % 17 == 0 else None
        result = f"value {row * 13 % 7_919}"
        yield ToolReturned(
            run_id=run, index=row + 1, agent=agent, name=tool, result=result, error=failed
        )
        request = tuple(RequestMessage(role="user", content=f"line {n}") for n in range(row % 6))
        yield ModelCalled(run_id=run, index=row + 1, agent=agent, request=request)
        yield HandedOff(run_id=run, index=row + 1, source=agent, target=f"agent-{row % 3}")
        row += 2


def over_and_over(events: Sequence[Event]) -> Iterator[Event]:
    """A run that never ends and always brings the same, in rows of their own."""
    rows = 1 + max((getattr(event, "index", 0) for event in events), default=0)
    for first in count(0, rows):
        for event in (e for e in events if not isinstance(e, RunFinished)):
            moved = {"index": first + event.index} if hasattr(event, "index") else {}
            yield replace(event, id=None, **moved)


def stays_bounded(subject: Subject) -> Iterator[str]:
    """Detector and signals hold no more at the end of a long run than early on."""
    yield from _bounded(subject, endless(), subject.length, "a run")
    for name, events, _ in subject.samples:
        if name == OWN and any(wants(subject.make, event) for event in events):
            length = subject.length // OWN_SHARE
            yield from _bounded(subject, over_and_over(events), length, "your run, over and over")


def _bounded(subject: Subject, run: Iterator[Event], length: int, what: str) -> Iterator[str]:
    traced = tracemalloc.is_tracing()
    if not traced:
        tracemalloc.start()
    try:
        grown = _growth(subject, run, length)
    finally:
        if not traced:
            tracemalloc.stop()
    if grown > GROWTH:
        yield (
            f"it grows by {grown // 1024} KiB from event {length // 10:,} to event {length:,} of "
            f"{what}; {GROWTH // 1024} KiB are allowed: bound its state"
        )


def _growth(subject: Subject, run: Iterator[Event], length: int) -> int:
    signals, detector = Signals("endless"), subject.make()
    early = _held()
    for n, event in enumerate(islice(run, length)):
        if n == length // 10:
            early = _held()
        signals.update(event)
        if wants(subject.make, event):
            Step(event, signals, detector).observe()
    return _held() - early


def _held() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def keeps_to_its_budget(subject: Subject) -> Iterator[str]:
    """``observe`` beside ``Signals.update``, event by event in one loop."""
    observing: dict[type[Event], list[float]] = defaultdict(list)
    updating: dict[type[Event], list[float]] = defaultdict(list)
    signals, detector = Signals("endless"), subject.make()
    for event in list(islice(endless(), TIMED)):
        began = time.perf_counter()
        signals.update(event)
        updated = time.perf_counter()
        if wants(subject.make, event):
            Step(event, signals, detector).observe()
        observed = time.perf_counter()
        updating[type(event)].append(updated - began)
        observing[type(event)].append(observed - updated)
    # Medians of each type, so that dear messages do not hide behind many cheap events.
    taken, allowed = (
        sum(map(statistics.median, seconds.values())) for seconds in (observing, updating)
    )
    if taken > subject.budget * allowed:
        yield (
            f"observe() takes {taken / allowed:.1f} times what the signals take for the same "
            f"events; its budget is {subject.budget:g}"
        )
