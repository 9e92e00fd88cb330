"""Recorded runs through the same watch as live ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from mastwatch.detector import Detector
from mastwatch.events import Event
from mastwatch.watch import Verdict, Watch


def replay(
    events: Iterable[Event], detectors: Iterable[Callable[[], Detector]]
) -> Iterator[Verdict]:
    """Feed a recorded run to fresh detectors, so that no run knows of another.

    Args:
        events: The run, in order.
        detectors: Detector classes, or other callables that make one.

    Yields:
        Findings and notices, as they arise.
    """
    watch = Watch(detectors)
    for event in events:
        yield from watch.publish(event)
