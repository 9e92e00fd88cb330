"""Events in, findings out: the one meeting point of all sources and all sinks."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from mastwatch.detector import Detector
from mastwatch.events import (
    Event,
    HumanAsked,
    HumanReplied,
    MessageSent,
    RunFinished,
    RunStarted,
    ToolReturned,
)
from mastwatch.findings import Finding, Notice, Severity
from mastwatch.guard import guard
from mastwatch.runs import MAX_LANES, Lane, Runs, RunState
from mastwatch.signals import Signals

Verdict: TypeAlias = Finding | Notice

MAX_SEEN_IDS = 512
"""Ids remembered per run to recognise an event that is reported twice."""
DUPLICATE_WINDOW = 0.05
"""Seconds within which an equal adjacent record without id is the same happening."""
MAX_NOTICES = 256
"""Different notices said per run."""
_TIMED_EVERY = 16  # a detector's time is measured on each 16th event: cheap, and enough for a rate


class Sink:
    """Hears of everything, in the thread where it happened; every call is guarded.

    Keep the methods quick. ``name`` labels the errors of this sink.
    """

    name = "sink"

    def on_event(self, event: Event, framework: str) -> None:
        """An event went by (no duplicate)."""

    def on_finding(self, finding: Finding) -> None:
        """A finding got through the hysteresis."""

    def on_notice(self, notice: Notice) -> None:
        """Something worth knowing that is no failure mode."""

    def on_duplicate(self, event: Event) -> None:
        """An event was dropped because it had been reported before."""

    def on_dropped(self, reason: str) -> None:
        """Something was lost at one of our bounds."""

    def on_detector(self, name: str, seconds: float) -> None:
        """A detector took so long over one event (a sample of all)."""


class Watch:
    """Keeps the runs, feeds their detectors, tells the sinks.

    Args:
        detectors: What makes the detectors of a conversation: classes, or factories.
        sinks: Who hears of it.
        runs: The runs' bounds and clock.
    """

    def __init__(
        self,
        detectors: Iterable[Callable[[], Detector]] = (),
        sinks: Sequence[Sink] = (),
        runs: Runs | None = None,
    ) -> None:
        self._factories = list(detectors)
        self._sinks = tuple(sinks)
        self._sinks_lock = threading.Lock()  # protects the swap of _sinks
        self._events = 0
        self.runs = runs or Runs()
        self.duplicates = 0
        self.dropped: Counter[str] = Counter()

    def add_sink(self, sink: Sink) -> None:
        """Tell ``sink`` of everything from now on."""
        with self._sinks_lock:
            self._sinks = (*self._sinks, sink)

    def remove_sink(self, sink: Sink) -> None:
        """Stop telling ``sink``; harmless if it was never added."""
        with self._sinks_lock:
            self._sinks = tuple(s for s in self._sinks if s is not sink)

    def publish(self, event: Event) -> list[Verdict]:
        """Observe and deliver in one, for sources that are alone with their run."""
        verdicts = self.observe(event)
        self.deliver(event, verdicts)
        return verdicts or []

    def observe(self, event: Event) -> list[Verdict] | None:
        """Bring a run up to date with one event and say what is new about it.

        Events of one run come one at a time and in order: its source sees to that.

        Returns:
            What is new; None for an event that does not count (a duplicate, a straggler).
        """
        if isinstance(event, RunStarted):
            self.expire()
        state = self.runs.touch(event)
        if state is None:  # the run is over: a straggler is counted, not watched
            self.drop("run_finished")
            return None
        lane = self._lane(state, event)
        if self._is_duplicate(state, lane, event):
            self.duplicates += 1
            for sink in self._sinks:
                with guard(f"sink.{sink.name}"):
                    sink.on_duplicate(event)
            return None
        self._book(state, lane, event)
        verdicts = self._detect(state, lane, event)
        if isinstance(event, RunFinished):
            self._finish(state, event)
        return verdicts

    def deliver(self, event: Event, verdicts: list[Verdict] | None) -> None:
        """Tell the sinks of an observed event and its verdicts; hold no lock while calling."""
        if verdicts is None:
            return
        framework = self.runs.framework(event.run_id)
        for sink in self._sinks:
            with guard(f"sink.{sink.name}"):
                sink.on_event(event, framework)
            for verdict in verdicts:
                with guard(f"sink.{sink.name}"):
                    if isinstance(verdict, Finding):
                        sink.on_finding(verdict)
                    else:
                        sink.on_notice(verdict)

    def expire(self) -> None:
        """Close runs that are idle for too long or too many; called at every run's start."""
        for state in self.runs.expired():
            self.drop("run_expired")
            self.publish(
                RunFinished(
                    run_id=state.run_id, at=time.time(), outcome="unknown", reason="no more events"
                )
            )

    def drop(self, reason: str) -> None:
        """Count something lost at one of our bounds."""
        self.dropped[reason] += 1
        for sink in self._sinks:
            with guard(f"sink.{sink.name}"):
                sink.on_dropped(reason)

    def _lane(self, state: RunState, event: Event) -> Lane:
        lane = state.lanes.get(event.branch)
        if lane is None:
            framework = event.framework if isinstance(event, RunStarted) else state.framework
            lane = Lane(
                framework,
                Signals(state.run_id, framework, event.branch),
                [detector for factory in self._factories if (detector := _make(factory))],
            )
            state.lanes[event.branch] = lane
            if len(state.lanes) > MAX_LANES:
                state.lanes.popitem(last=False)
                self.drop("branch_evicted")
        state.lanes.move_to_end(event.branch)
        return lane

    def _is_duplicate(self, state: RunState, lane: Lane, event: Event) -> bool:
        if event.id is not None:
            key = hash((type(event), event.id))
            if key in state.seen:
                return True
            state.seen[key] = None
            if len(state.seen) > MAX_SEEN_IDS:
                state.seen.popitem(last=False)
            return False
        row = _row(event)
        if row is None:
            return False
        same = row == lane.last_row and not (isinstance(event, ToolReturned) and lane.open_calls)
        if same and event.at is not None and lane.last_row_at is not None:
            same = event.at - lane.last_row_at <= DUPLICATE_WINDOW
        lane.last_row, lane.last_row_at = row, event.at
        return same

    def _book(self, state: RunState, lane: Lane, event: Event) -> None:
        if isinstance(event, MessageSent):
            state.messages += 1
            state.texts += event.text is not None
            lane.open_calls = len(event.tool_calls)
            lane.episodes.row()
        elif isinstance(event, ToolReturned):
            lane.open_calls = max(0, lane.open_calls - 1)
            lane.episodes.row()
        elif isinstance(event, RunStarted) and not event.branch:
            state.framework = event.framework
            state.tags.update(event.tags)
            state.outcome = None
        state.asking = isinstance(event, HumanAsked)
        if isinstance(event, HumanReplied):
            lane.last_row = None
        if isinstance(event, HumanReplied) or getattr(event, "kind", "") == "human":
            lane.episodes.reset()

    def _detect(self, state: RunState, lane: Lane, event: Event) -> list[Verdict]:
        with guard("signals"):
            lane.signals.update(event)
        self._events += 1
        timed = self._events % _TIMED_EVERY == 0
        verdicts: list[Verdict] = []
        for detector in lane.listening(type(event)):
            with guard(f"detector.{detector.name}"):
                started = time.perf_counter() if timed else 0.0
                said = detector.observe(event, lane.signals)
                if timed:
                    self._time(detector.name, time.perf_counter() - started)
                if said is not None and (new := self._admit(state, lane, said)) is not None:
                    verdicts.append(new)
        return verdicts

    def _admit(self, state: RunState, lane: Lane, said: Verdict) -> Verdict | None:
        if isinstance(said, Finding):
            finding = lane.episodes.admit(said)
            if finding is not None:
                state.worst = max(state.worst or Severity.INFO, finding.severity)
            return finding
        key = (said.name, said.key)
        if key in state.said or len(state.said) >= MAX_NOTICES:
            return None
        state.said.add(key)
        return said

    def _time(self, name: str, seconds: float) -> None:
        for sink in self._sinks:
            with guard(f"sink.{sink.name}"):
                sink.on_detector(name, seconds)

    def _finish(self, state: RunState, event: RunFinished) -> None:
        if event.branch:
            state.lanes.pop(event.branch, None)
        elif event.outcome == "paused":
            state.outcome = "paused"
        else:
            self.runs.finish(state, event.outcome)


def _make(factory: Callable[[], Detector]) -> Detector | None:
    with guard("detector.make"):
        return factory()
    return None


def _row(event: Event) -> tuple[object, ...] | None:
    """What makes two adjacent records without ids the same row; None for events that are no row."""
    if isinstance(event, MessageSent):
        calls = tuple((call.name, repr(call.arguments)) for call in event.tool_calls)
        return ("message", event.sender, event.text, calls)
    if isinstance(event, ToolReturned):
        return ("result", event.agent, event.name, event.result, event.error)
    return None
