"""Recorded runs through the same watch as live ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from mastwatch.detector import Detector
from mastwatch.events import Event
from mastwatch.policy import Policy
from mastwatch.watch import Sink, Verdict, Watch


def replay(
    events: Iterable[Event],
    detectors: Iterable[Callable[[], Detector]],
    *,
    policy: Policy | None = None,
    sinks: Sequence[Sink] = (),
) -> Iterator[Verdict]:
    """Feed a recorded run to fresh detectors, so that no run knows of another.

    Args:
        events: The run, in order.
        detectors: Detector classes, or other callables that make one.
        policy: Thresholds and rules; it makes the detectors then. The shipped defaults without.
        sinks: Who else hears of it.

    Yields:
        Findings and notices, as they arise.
    """
    watch = Watch(detectors, sinks, policy=policy)
    for event in events:
        yield from watch.publish(event)
