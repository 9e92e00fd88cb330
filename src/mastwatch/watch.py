"""Events in, findings out: the one meeting point of all sources and all sinks."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from mastwatch import forks
from mastwatch.allowances import allowance_for, open_allowances
from mastwatch.detector import Detector
from mastwatch.duplicates import MAX_SEEN_IDS, is_duplicate
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
from mastwatch.guard import guard, swallowed
from mastwatch.policy import Plan, Policy, Rule
from mastwatch.runs import MAX_LANES, Lane, Runs, RunState
from mastwatch.signals import Signals
from mastwatch.sink import Sink

__all__ = ["MAX_NOTICES", "MAX_SEEN_IDS", "Sink", "Verdict", "Watch"]

Verdict: TypeAlias = Finding | Notice

MAX_NOTICES = 256
"""Different notices said per run."""
_TIMED_EVERY = 16  # a detector's time is measured on each 16th event: cheap, and enough for a rate


class Watch:
    """Keeps the runs, feeds their detectors, tells the sinks.

    Args:
        detectors: What makes the detectors of a conversation: classes, or factories.
        sinks: Who hears of it.
        runs: The runs' bounds and clock.
        policy: The host's thresholds and rules; it makes the detectors then.
    """

    def __init__(
        self,
        detectors: Iterable[Callable[[], Detector]] = (),
        sinks: Sequence[Sink] = (),
        runs: Runs | None = None,
        policy: Policy | None = None,
    ) -> None:
        self._plan: Plan = [(factory, None) for factory in detectors]
        self._policy = policy
        self._sinks = tuple(sinks)
        self._sinks_lock = forks.lock()  # protects the swap of _sinks
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
        if is_duplicate(state, lane, event):
            self.duplicates += 1
            self._tell(lambda sink: sink.on_duplicate(event))
            return None
        if isinstance(event, RunStarted) and not event.resumed and lane.signals.turns:
            lane = self._renew(state, lane, event)
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
        over = isinstance(event, RunFinished) and not event.branch and event.outcome != "paused"
        for sink in self._sinks:
            with guard(f"sink.{sink.name}"):
                sink.on_event(event, framework)
            for verdict in verdicts:
                with guard(f"sink.{sink.name}"):
                    if isinstance(verdict, Finding):
                        sink.on_finding(verdict)
                    else:
                        sink.on_notice(verdict)
            if over:
                with guard(f"sink.{sink.name}"):
                    sink.on_run_end(event.run_id)

    def renew(self, run_id: str) -> None:
        """Let what goes on in a run count anew, as after a person's message."""
        state = self.runs.state(run_id)
        for lane in list(state.lanes.values()) if state is not None else ():
            lane.episodes.reset()

    def acted(self, action: str, mode: str, result: str) -> None:
        """Tell the sinks of something done on a finding."""
        self._tell(lambda sink: sink.on_action(action, mode, result))

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
        self._tell(lambda sink: sink.on_dropped(reason))

    def _lane(self, state: RunState, event: Event) -> Lane:
        lane = state.lanes.get(event.branch)
        if lane is None:
            framework = event.framework if isinstance(event, RunStarted) else state.framework
            lane = self._new_lane(state.run_id, framework, event.branch)
            state.lanes[event.branch] = lane
            if len(state.lanes) > MAX_LANES:
                state.lanes.popitem(last=False)
                self.drop("branch_evicted")
        state.lanes.move_to_end(event.branch)
        return lane

    def _renew(self, state: RunState, lane: Lane, event: RunStarted) -> Lane:
        """Watch a second conversation of a run anew: what it has in common is no repetition."""
        new = self._new_lane(state.run_id, event.framework or lane.framework, event.branch)
        new.episodes = lane.episodes  # they are numbered on
        new.episodes.reset()
        state.lanes[event.branch] = new
        return new

    def _new_lane(self, run_id: str, framework: str, branch: str) -> Lane:
        lane = Lane(framework, Signals(run_id, framework, branch), [])
        plan = self._plan if self._policy is None else self._policy.plan(framework)
        for factory, rule in plan:
            with guard("detector.make"):
                detector = factory()
                lane.detectors.append(detector)
                if rule is not None:
                    lane.variants[id(detector)] = rule
        return lane

    def _book(self, state: RunState, lane: Lane, event: Event) -> None:
        if isinstance(event, MessageSent):
            state.messages += 1
            state.texts += bool(event.text)
            state.withheld += event.text is None
            lane.open_calls = len(event.tool_calls)
            lane.episodes.row()
        elif isinstance(event, ToolReturned):
            state.texts += bool(event.result)
            state.withheld += event.result is None and event.error is None
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
        signals = lane.signals
        try:
            signals.update(event)
        except Exception as error:
            if not swallowed("signals", error):
                raise
        self._events += 1
        observe = _observe if self._events % _TIMED_EVERY else self._observe_timed
        verdicts: list[Verdict] = []
        for detector in lane.listening(type(event)):
            try:
                said = observe(detector, event, signals)
                if said is not None and (new := self._admit(state, lane, detector, said)):
                    verdicts.append(new)
            except Exception as error:
                if not swallowed(f"detector.{detector.name}", error):
                    raise
        return verdicts

    def _observe_timed(self, detector: Detector, event: Event, signals: Signals) -> Verdict | None:
        started = time.perf_counter()
        said = detector.observe(event, signals)
        seconds = time.perf_counter() - started
        self._tell(lambda sink: sink.on_detector(detector.name, seconds))
        return said

    def _admit(
        self, state: RunState, lane: Lane, detector: Detector, said: Verdict
    ) -> Verdict | None:
        rule = None
        if self._policy is not None:
            # By what the detector is, as when it was made: a stranger's Finding may say otherwise.
            mode, name, tool = detector.mode, detector.name, getattr(said, "tool", "")
            rule = self._policy.rule_for(mode, name, said.agent, tool, lane.framework)
            meant = rule if rule is not None and rule.tunes(name) else None
            if lane.variants.get(id(detector)) is not meant:
                return None  # another instance of this detector speaks for it
        if isinstance(said, Finding):
            finding: Finding | None = said
            if rule is not None or open_allowances.get():
                finding = self._screen(lane, said, rule)
            finding = finding and lane.episodes.admit(finding)
            if finding is not None:
                state.worst = max(state.worst or Severity.INFO, finding.severity)
            return finding
        key = (said.name, said.key)
        if key in state.said or len(state.said) >= MAX_NOTICES:
            return None
        state.said.add(key)
        return said

    def _screen(self, lane: Lane, said: Finding, rule: Rule | None) -> Finding | None:
        """The finding as the host wants it; None where it wants none, which is told."""
        if rule is not None:
            said = rule.cap(said)
        if allowance := allowance_for(said):
            by, reason = "allow", allowance.reason
        elif rule is not None and rule.ignore:
            by, reason = "ignore", rule.reason
        else:
            return said
        suppressed = lane.episodes.admit(said, suppressed=True)
        if suppressed is not None:
            self._tell(lambda sink: sink.on_suppressed(suppressed, by, reason))
        return None

    def announce(self, finding: Finding) -> None:
        """Tell the sinks of a finding about a run that is over: a judge's."""
        self._tell(lambda sink: sink.on_finding(finding))

    def _tell(self, say: Callable[[Sink], object]) -> None:
        for sink in self._sinks:
            with guard(f"sink.{sink.name}"):
                say(sink)

    def _finish(self, state: RunState, event: RunFinished) -> None:
        if event.branch:
            state.lanes.pop(event.branch, None)
        elif event.outcome == "paused":
            state.outcome = "paused"
        else:
            self.runs.finish(state, event.outcome)


def _observe(detector: Detector, event: Event, signals: Signals) -> Verdict | None:
    return detector.observe(event, signals)
