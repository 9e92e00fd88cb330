"""The runs being watched: bounded, with a stated end for each.

A run ends when its framework says so; by idleness only where nothing else is known. A paused run
waits for a person: it is neither idle nor finished until it is resumed or evicted.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from mastwatch import forks
from mastwatch.detector import Detector
from mastwatch.episodes import Episodes
from mastwatch.events import Event, Outcome, RunStarted
from mastwatch.findings import Severity
from mastwatch.policy import Rule
from mastwatch.signals import Signals

MAX_LANES = 64
"""Conversations (branches) watched at once in one run; the least recent is dropped beyond."""
MAX_FINISHED = 1_024
"""Finished runs of which the summary is kept, for ``mastwatch.outcome`` after the run."""


@dataclass(slots=True)
class Lane:
    """One conversation of a run: its framework, signals, detectors and open episodes."""

    framework: str
    signals: Signals
    detectors: list[Detector]
    variants: dict[int, Rule] = field(default_factory=dict)  # by id(), the detectors of a rule
    listeners: dict[type[Event], tuple[Detector, ...]] = field(default_factory=dict)
    episodes: Episodes = field(default_factory=Episodes)
    last_row: tuple[object, ...] | None = None
    last_row_at: float | None = None
    last_index: int = -1
    echoes: int = 0  # of the present row, so far
    copies: int = 1  # of the message before
    open_calls: int = 0

    def listening(self, kind: type[Event]) -> tuple[Detector, ...]:
        """The detectors that observe events of this type."""
        known = self.listeners.get(kind)
        if known is None:
            known = tuple(
                detector
                for detector in self.detectors
                if not detector.observes or issubclass(kind, detector.observes)
            )
            self.listeners[kind] = known
        return known


@dataclass(slots=True)
class RunState:
    """What is known of one run while it is watched; its caller orders the events."""

    run_id: str
    framework: str
    started: float
    last_event: float
    lanes: OrderedDict[str, Lane] = field(default_factory=OrderedDict)
    seen: OrderedDict[int, None] = field(default_factory=OrderedDict)
    tags: dict[str, str] = field(default_factory=dict)
    messages: int = 0
    texts: int = 0
    withheld: int = 0
    outcome: Outcome | None = None
    asking: bool = False
    worst: Severity | None = None
    said: set[tuple[str, str]] = field(default_factory=set)

    @property
    def textless(self) -> bool:
        """Whether its source withholds all text: something was said, and none of it came."""
        return self.withheld > 0 and not self.texts

    @property
    def waiting(self) -> bool:
        """Whether a person is to speak next: paused, or blocked in a question."""
        return self.asking or self.outcome == "paused"

    @property
    def active(self) -> bool:
        """Neither finished nor paused."""
        return self.outcome is None


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What is kept of a run after its end."""

    run_id: str
    framework: str
    outcome: Outcome
    messages: int
    worst: Severity | None


class Runs:
    """All runs of the process, at most ``max_runs`` at once.

    Args:
        max_runs: Beyond it the longest idle run is handed to ``on_expired``.
        idle_timeout: Seconds without an event after which a run counts as abandoned by its source.
        clock: Monotonic seconds; tests give their own.
    """

    def __init__(
        self,
        max_runs: int = 1_024,
        idle_timeout: float = 3_600.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max_runs = max_runs
        self._idle_timeout = idle_timeout
        self._clock = clock
        self._lock = forks.lock()  # protects the two maps, not the states in them
        self._states: OrderedDict[str, RunState] = OrderedDict()  # least recent first
        self._finished: OrderedDict[str, RunSummary] = OrderedDict()
        forks.remake(self)

    def after_fork(self) -> None:
        """The runs that go on are the parent's to finish."""
        self._states.clear()

    def touch(self, event: Event) -> RunState | None:
        """The state of the event's run, made if it is new; None when the run has ended."""
        now = self._clock()
        with self._lock:
            state = self._states.get(event.run_id)
            if state is None:
                if event.run_id in self._finished:
                    return None
                framework = event.framework if isinstance(event, RunStarted) else ""
                state = RunState(event.run_id, framework, now, now)
                self._states[event.run_id] = state
            state.last_event = now
            self._states.move_to_end(event.run_id)
            return state

    def expired(self) -> list[RunState]:
        """Runs over the limit or idle too long, longest idle first; still in the map."""
        now = self._clock()
        with self._lock:
            excess = len(self._states) - self._max_runs
            gone: list[RunState] = []
            for state in self._states.values():
                idle = not state.waiting and now - state.last_event > self._idle_timeout
                if len(gone) < excess or idle:
                    gone.append(state)
                elif not state.waiting:
                    break
            return gone

    def finish(self, state: RunState, outcome: Outcome) -> None:
        """Drop a run's state and keep its summary."""
        state.outcome = outcome
        summary = RunSummary(state.run_id, state.framework, outcome, state.messages, state.worst)
        with self._lock:
            self._states.pop(state.run_id, None)
            self._finished[state.run_id] = summary
            while len(self._finished) > MAX_FINISHED:
                self._finished.popitem(last=False)

    def state(self, run_id: str) -> RunState | None:
        """What is known of a run that has not finished."""
        with self._lock:
            return self._states.get(run_id)

    def summary(self, run_id: str) -> RunSummary | None:
        """What is kept of a finished run."""
        with self._lock:
            return self._finished.get(run_id)

    def framework(self, run_id: str) -> str:
        """Framework of a run, live or finished; empty when unknown."""
        with self._lock:
            known = self._states.get(run_id) or self._finished.get(run_id)
        return known.framework if known else ""

    def active(self) -> list[RunState]:
        """Runs that are neither finished nor paused, longest idle first."""
        with self._lock:
            return [state for state in self._states.values() if state.active]

    def oldest_idle(self, framework: str) -> float:
        """Seconds since the last event of the longest idle run that waits for nobody, else 0."""
        now = self._clock()
        idle = (
            now - state.last_event
            for state in self.active()
            if state.framework == framework and not state.waiting
        )
        return max(idle, default=0.0)
