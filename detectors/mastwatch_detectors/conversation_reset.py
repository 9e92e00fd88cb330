"""FM-2.1: the conversation, or an agent's memory of it, starts over in mid-run."""

from __future__ import annotations

from collections import deque
from typing import ClassVar

from mastwatch.detector import Detector
from mastwatch.events import Event, MessageSent
from mastwatch.findings import Finding, Notice, Severity
from mastwatch.signals import RequestChange, Signals, Utterance
from mastwatch_detectors._hit import Hit, worst
from mastwatch_detectors._reset.opening import OpeningReplay
from mastwatch_detectors._reset.reissue import AskedAgain, TaskReissued

AGENTS_KEPT = 64
NEAR_ROWS = 8
_LOST: dict[RequestChange, tuple[Severity, str]] = {
    "reset": (Severity.ALERT, "started over from its first messages"),
    "system_lost": (Severity.ALERT, "went on without its system prompt"),
    "task_lost": (Severity.WARN, "no longer holds the task"),
    "shrunk": (Severity.SUSPECT, "shrank to less than half without a compaction"),
}


class ConversationReset(Detector):
    """Notices restarts: lost request history, a second opening, a task given again.

    Rules; the most severe speaks:

    - R1, request chain: what an agent sends to its model no longer follows from what it sent
      before. The strongest sign; needs model requests. A compaction or trim is a notice.
    - R2, opening replay: the lead agent opens the work as it did at first; ``ALERT`` when its
      next step (words or call) follows suit, when R1 or R5 agree, or at the second time.
    - R3, task re-issued: the task is given again and old actions follow, or a second new plan.
    - R4, asked again: an answered question, a greeting in mid-run. With R2 or R3 it is ``WARN``.
    - R5, lifecycle: the framework drops an agent's history, or starts itself anew, after turns.

    A history cleared before an agent's first turn, nested chats (a branch of their own),
    summarisers and judges (another system prompt) and a new plan with new actions are no reset.

    Args:
        opening_share: Share of the opening's word 3-grams that come back (R2), 0 to 1.
        opening_words: Words such a message must have.
        opening_between: Own messages since the last opening for a second one to be a restart and
            no repeated step; one is enough where R1 or R5 agree, the next message follows suit,
            or more than 8 turns of others lie between.
        step_share: The same share for the message after it, for ``ALERT``.
        task_overlap: Share of the task's 3-grams in a message that gives it again (R3).
        task_actions: Actions looked at after it.
        task_repeats: How many of them must have been done before, for ``WARN``.
        replans: New plans for ``WARN``.

    Example:
        >>> from mastwatch.events import ModelCalled, RequestMessage
        >>> detector, signals = ConversationReset(), Signals("run-1")
        >>> said = [RequestMessage(role="user", content=f"Step {n} of the plan.") for n in range(5)]
        >>> for length in (1, 3, 5, 1):
        ...     request = tuple(said[:length])
        ...     event = ModelCalled(run_id="run-1", index=length, agent="worker", request=request)
        ...     signals.update(event)
        ...     found = detector.observe(event, signals)
        >>> found.severity.label, found.agent
        ('alert', 'worker')

    Misses: a restart of an agent that does not lead, without model requests; a restart in
    entirely other words. A lead whose messages all open alike (a form, a header) is flagged:
    raise ``opening_share`` for it.

    Source: Cemri et al., arXiv 2503.13657, FM-2.1; what must stay silent:
    ``tests/detectors/test_traps_reset.py``.
    """

    mode: ClassVar[str] = "FM-2.1"
    name: ClassVar[str] = "conversation_reset"

    def __init__(
        self,
        *,
        opening_share: float = 0.45,
        opening_words: int = 12,
        opening_between: int = 2,
        step_share: float = 0.315,
        task_overlap: float = 0.9,
        task_actions: int = 5,
        task_repeats: int = 2,
        replans: int = 2,
    ) -> None:
        self._opening = OpeningReplay(opening_share, step_share, opening_words, opening_between)
        self._task = TaskReissued(task_overlap, task_actions, task_repeats, max(2, replans))
        self._asked = AskedAgain()
        self._spoke: deque[str] = deque(maxlen=AGENTS_KEPT)
        self._starts: deque[int] = deque(maxlen=8)  # digests of lines before the first turn
        self._corroborated = False
        self._lost_row, self._lost_by = 0, ""  # of the latest history that was lost
        self._restarts = 0
        self._restart_row = 0
        self._latest: dict[str, int] = {}  # row at which R2, R3, R4 last held

    def observe(self, event: Event, signals: Signals) -> Finding | Notice | None:
        """Look at one event."""
        said = signals.utterance
        hits = [
            self._request(signals),
            self._lifecycle(signals),
            self._near("R3", self._reissue(signals), signals),
        ]
        if said is not None and isinstance(event, MessageSent):
            hits.append(self._near("R4", self._asked.observe(said, event.text), signals))
            hits.append(self._near("R2", self._replay(said, signals), signals))
        hit = worst(hits)
        if hit is not None:
            return self.finding(signals=signals, **hit._asdict())
        return self._by_design(signals)

    def _reissue(self, signals: Signals) -> Hit | None:
        near = self._corroborated and signals.index - self._lost_row <= NEAR_ROWS
        hit = self._task.observe(signals, near)
        if hit is not None and hit.severity >= Severity.ALERT:
            return hit._replace(key=self._restart(signals), owner=self._lost_by)
        return hit

    def _replay(self, said: Utterance, signals: Signals) -> Hit | None:
        if said.by_model and said.agent not in self._spoke:
            self._spoke.append(said.agent)
        hit = self._opening.observe(said, signals, self._corroborated)
        if hit is not None:
            hit = hit._replace(key=self._restart(signals))
        if said.agent == signals.lead and said.by_model:
            self._corroborated = False
        return hit

    def _request(self, signals: Signals) -> Hit | None:
        request = signals.request
        if request is None or request.change not in _LOST or signals.finished is not None:
            return None
        severity, what = _LOST[request.change]
        self._lost(request.agent, signals)
        counts = f" ({request.before} messages before, {request.messages} now)"
        return Hit(
            severity,
            self._restart(signals),
            request.agent,
            (signals.index,) if signals.index >= 0 else (),
            f"The model request of {request.agent or 'an agent'} {what}"
            + (counts if request.before else ""),
        )

    def _lifecycle(self, signals: Signals) -> Hit | None:
        agent, said = signals.cleared, signals.utterance
        if agent is not None:
            happened = agent in self._spoke if agent else bool(signals.turns)
            what = f"The history of {agent or 'all agents'} was dropped in mid-run"
        elif said is not None and said.kind == "system" and said.digest:
            if not signals.turns:
                self._starts.append(said.digest)
            agent, happened = said.agent, bool(signals.turns) and said.digest in self._starts
            what = f"{said.agent} started itself anew at row {said.row}"
        else:
            return None
        if not happened or signals.finished is not None:
            return None
        self._lost(agent, signals)
        return Hit(Severity.SUSPECT, self._restart(signals), agent, (signals.index,), what)

    def _lost(self, agent: str, signals: Signals) -> None:
        self._corroborated, self._lost_row, self._lost_by = True, signals.index, agent

    def _restart(self, signals: Signals) -> str:
        """Key of the present restart: what several rules see within a few rows is one."""
        if not self._restarts or signals.index - self._restart_row > NEAR_ROWS:
            self._restarts += 1
        self._restart_row = signals.index
        return f"restart:{self._restarts}"

    def _near(self, rule: str, hit: Hit | None, signals: Signals) -> Hit | None:
        """Let two different weak signs close together make a stronger one."""
        if hit is None:
            return None
        others = [row for name, row in self._latest.items() if name != rule]
        self._latest[rule] = signals.index
        recent = [row for row in others if signals.index - row <= NEAR_ROWS]
        if hit.severity >= Severity.WARN or not recent:
            return hit
        return hit._replace(severity=Severity.WARN, evidence=(*recent, *hit.evidence))

    def _by_design(self, signals: Signals) -> Notice | None:
        if self._task.replanned:
            return self.notice(
                "replan",
                signals,
                key=str(self._task.replans),
                agent=signals.utterance.agent if signals.utterance else "",
                evidence=(signals.index,),
                explanation="The orchestrator made a new plan from the task",
            )
        request = signals.request
        if request is None or request.change not in ("compaction", "trim"):
            return None
        how = "summarised" if request.change == "compaction" else "trimmed"
        return self.notice(
            "compaction",
            signals,
            key=f"{request.agent}:{request.change}",
            agent=request.agent,
            explanation=f"The history of {request.agent or 'an agent'} was {how}: "
            f"{request.before} messages before, {request.messages} now",
        )
