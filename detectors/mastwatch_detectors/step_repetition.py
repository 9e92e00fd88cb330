"""FM-1.3: agents do again what they have done."""

from __future__ import annotations

from typing import ClassVar

from mastwatch.detector import Detector
from mastwatch.events import Event, MessageSent
from mastwatch.findings import Finding, Notice, Severity
from mastwatch.signals import Signals, Utterance
from mastwatch_detectors._hit import Hit, worst
from mastwatch_detectors._repetition.calls import ChurningCall, StuckCall, Thrash
from mastwatch_detectors._repetition.cycle import Cycle, Symbol, symbol
from mastwatch_detectors._repetition.loops import Loops
from mastwatch_detectors._repetition.messages import Degenerate, NearDuplicate, Stagnation


class StepRepetition(Detector):
    """Notices calls, messages and rounds of messages that repeat without progress.

    Rules, each with its own evidence; the most severe speaks, and the steps of one loop are one
    episode:

    - A, stuck call: same tool, same arguments, same result, whatever lies between.
    - B, churning call: one call in a row with ever new results and no other purpose.
    - C, thrash: ever new arguments, the same result.
    - D, near-duplicate: an agent's messages nearly repeat (word 3-grams, Jaccard .8). With
      progress between only ``SUSPECT``, unless the very words come again in a mere talk.
    - E, cycle: 2 to 8 steps of agents and calls go round in a circle.
    - F, stagnation: little new text in several outputs running; alone only ``SUSPECT``.
    - G, degenerate text: one message repeats a stretch of itself.

    Polling with changing results, pages read one after the other, batches, retries after a rate
    limit and tests run again after an edit are no repetition. Weather (429, 5xx, timeouts) is the
    notice ``retry_storm``.

    Args:
        stuck_warn: Same call and result for ``WARN`` (A), times.
        stuck_alert: The same for ``ALERT``.
        failing_warn: Same failing call of a tool that changes the world for ``WARN`` (A).
        failing_alert: The same for ``ALERT``.
        retry_storm: Infrastructure failures of one call in a row for the notice.
        churn_info: Same call running for ``INFO`` (B), times.
        churn_warn: The same for ``WARN``.
        churn_poll: The same for ``WARN`` where the tool is declared ``poll``.
        thrash_warn: Equal results of one tool among its last 32 for ``WARN`` (C).
        thrash_distinct: Different arguments that takes.
        near_suspect: Near-duplicates among an agent's last 16 messages for ``SUSPECT`` (D).
        near_warn: The same for ``WARN``; only while the progress clock stands, or for exact copies
            with no tool result and no person between.
        near_alert: The same for ``ALERT``.
        near_words: Words a message must have to count (D).
        cycle_warn: Complete rounds for ``WARN`` (E).
        cycle_alert: Complete rounds for ``ALERT``.
        stale_suspect: New share below which an output is stale (F), 0 to 1.
        stale_warn: New share for ``WARN``, which also needs another rule.
        stale_times: Stale outputs running.
        degenerate_repeats: Repeats of a 50-character stretch inside a message (G).
        degenerate_gaps: Different distances between them at most.

    Example:
        >>> from mastwatch.events import MessageSent
        >>> detector, signals = StepRepetition(), Signals("run-1")
        >>> for row in range(3):
        ...     text = "Please look the opening hours up once more."
        ...     event = MessageSent(run_id="run-1", index=row, sender="planner", text=text)
        ...     signals.update(event)
        ...     found = detector.observe(event, signals)
        >>> found.severity.label, found.evidence
        ('warn', (0, 1, 2))

    Misses: paraphrased loops (the judge's work), loops longer than 8 steps, repetition across
    different agents without a cycle. Results must be there: rule A cannot speak without them.
    ``near_warn=2`` finds loops one message earlier and flags 2 to 3 % of healthy two-agent chats.

    Source: Cemri et al., arXiv 2503.13657, FM-1.3; what must stay silent:
    ``tests/detectors/test_traps_repetition.py``.
    """

    mode: ClassVar[str] = "FM-1.3"
    name: ClassVar[str] = "step_repetition"

    def __init__(
        self,
        *,
        stuck_warn: int = 3,
        stuck_alert: int = 5,
        failing_warn: int = 2,
        failing_alert: int = 3,
        retry_storm: int = 3,
        churn_info: int = 10,
        churn_warn: int = 20,
        churn_poll: int = 100,
        thrash_warn: int = 6,
        thrash_distinct: int = 3,
        near_suspect: int = 2,
        near_warn: int = 3,
        near_alert: int = 5,
        near_words: int = 5,
        cycle_warn: int = 3,
        cycle_alert: int = 5,
        stale_suspect: float = 0.4,
        stale_warn: float = 0.3,
        stale_times: int = 3,
        degenerate_repeats: int = 10,
        degenerate_gaps: int = 5,
    ) -> None:
        # A repetition takes two: a limit of 1 must not fire on the first call.
        self._stuck = StuckCall(
            max(2, stuck_warn), max(2, stuck_alert), max(2, failing_warn), max(2, failing_alert)
        )
        self._churn = ChurningCall(max(2, churn_info), max(2, churn_warn), max(2, churn_poll))
        self._thrash = Thrash(max(2, thrash_warn), max(2, thrash_distinct))
        self._near = NearDuplicate(
            max(2, near_suspect), max(2, near_warn), max(2, near_alert), near_words
        )
        self._cycle = Cycle(max(2, cycle_warn), max(2, cycle_alert))
        stale = (stale_suspect, stale_warn, max(2, stale_times))
        self._stale_messages = Stagnation(*stale, "messages")
        self._stale_results = Stagnation(*stale, "tool results")
        self._degenerate = Degenerate(degenerate_repeats, degenerate_gaps)
        self._loops = Loops()
        self._retry_storm = max(1, retry_storm)

    def observe(self, event: Event, signals: Signals) -> Finding | Notice | None:
        """Look at one event."""
        said, result = signals.utterance, signals.result
        if said is None:
            if result is None and not signals.human:
                return None
        elif said.by_model and not (said.seen or said.calls or result is not None):
            return self._new_words(said, event, signals)
        if signals.human:
            self._restart()
        if signals.human or result is not None or (said and said.kind == "code"):
            self._near.acted()
        hit = worst(self._rules(event, signals))
        step = symbol(said, result)
        if step is not None:
            hit = self._name(step, hit, signals)
        hit = _joined(hit, self._stale(signals, backed=hit is not None))
        if hit is not None:
            return self.finding(signals=signals, **hit._asdict())
        return self._retries(signals)

    def _new_words(self, said: Utterance, event: Event, signals: Signals) -> Finding | None:
        """Take the short way for what most messages are: new words of a model around no call."""
        self._near.note(said, signals.progress)
        step = symbol(said, None)
        if step is not None:
            self._cycle.note(step, signals.index)
            self._loops.step(step)
        text = event.text if isinstance(event, MessageSent) else None
        hit = self._degenerate.observe(said, text)
        hit = _joined(hit, self._stale_messages.message(said, signals, hit is not None))
        return self.finding(signals=signals, **hit._asdict()) if hit is not None else None

    def _rules(self, event: Event, signals: Signals) -> list[Hit | None]:
        hits: list[Hit | None] = []
        if signals.result is not None:
            for rule in (self._stuck, self._churn, self._thrash):
                hits.append(rule.observe(signals.result))
        said = signals.utterance
        if said is not None and said.by_model and isinstance(event, MessageSent):
            hits.append(self._near.observe(said, signals))
            hits.append(self._degenerate.observe(said, event.text))
        return hits

    def _name(self, step: Symbol, hit: Hit | None, signals: Signals) -> Hit | None:
        """Let the circle speak too, and give the hit its loop's name."""
        said = signals.utterance
        found = None
        circle: list[Symbol] = []
        if said is not None and not said.seen and signals.result is None:
            self._cycle.note(step, signals.index)
        elif (found := self._cycle.observe(step, signals.index)) is not None:
            hit, circle = worst((found[0], hit)), found[1]
        if hit is None:
            self._loops.step(step)
            return None
        if hit.key.startswith(("call:", "message:", "cycle:")):
            return self._loops.join(step, circle, hit)
        return hit

    def _stale(self, signals: Signals, *, backed: bool) -> Hit | None:
        said, result = signals.utterance, signals.result
        if said is not None and said.by_model:
            if any(not call.times for call in said.calls):
                return None  # the words are old, what is done is new
            return self._stale_messages.message(said, signals, backed)
        if result is not None:
            return self._stale_results.result(result, signals, backed)
        return None

    def _retries(self, signals: Signals) -> Notice | None:
        result = signals.result
        if result is None or result.call is None or result.error != "infra":
            return None
        if self._stuck.infra < self._retry_storm:
            return None
        call = result.call
        return self.notice(
            "retry_storm",
            signals,
            key=f"{call.key:x}",
            agent=call.agent,
            severity=Severity.SUSPECT,
            evidence=(result.row,),
            explanation=f"{call.tool} failed {self._stuck.infra} times in a row for reasons "
            "outside the agents (rate limit, time-out, server error)",
        )

    def _restart(self) -> None:
        self._stuck.restart()
        self._churn.restart()
        self._thrash.restart()
        self._cycle.restart()
        self._stale_messages.restart()
        self._stale_results.restart()
        self._loops.restart()


def _joined(hit: Hit | None, stale: Hit | None) -> Hit | None:
    """Let stagnation raise a loop that is there already; alone it speaks for itself."""
    if hit is None or stale is None:
        return hit or stale
    if stale.severity <= hit.severity:
        return hit
    return hit._replace(
        severity=stale.severity,
        evidence=(*hit.evidence, *stale.evidence),
        explanation=f"{hit.explanation}; {stale.explanation}",
    )
