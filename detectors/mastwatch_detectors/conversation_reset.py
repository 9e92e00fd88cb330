"""FM-2.1: the conversation, or an agent's memory of it, starts over in mid-run."""

from __future__ import annotations

from collections import deque
from typing import ClassVar

from mastwatch.detector import Detector
from mastwatch.events import Event, HistoryCleared, MessageSent, ModelCalled, ToolCalled
from mastwatch.findings import Finding, Notice, Severity
from mastwatch.signals import Request, RequestChange, Signals, Utterance
from mastwatch_detectors._hit import Hit, worst
from mastwatch_detectors._reset.asked import AskedAgain
from mastwatch_detectors._reset.opening import Limits, OpeningReplay
from mastwatch_detectors._reset.reissue import TaskReissued

AGENTS_KEPT = 64
NEAR = 8
"""Messages within which two signs are signs of one restart."""
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
      before. The strongest sign; needs model requests. A compaction or trim is a notice, and a
      lost task is one until the next request shows that no window slides. Of requests whose
      text is withheld only the length is known: ``SUSPECT`` at most.
    - R2, opening replay: the lead (the first agent that speaks and speaks again) opens the work
      as it did at first; ``ALERT`` when its next step (words or call) follows suit, when R1 or R5
      agree, or at the second time.
    - R3, task re-issued: the task is given again and old actions follow, or a second new plan.
    - R4, asked again: an answered question, a greeting in mid-run; ``WARN`` when the question
      gets the same answer again, or with another sign by R2 or R3 near by.
    - R5, lifecycle: the framework drops an agent's history, or starts itself anew, after turns.

    A history cleared before an agent's first turn, nested chats (a branch of their own), a second
    conversation that the framework announces (it is watched anew), summarisers and judges (another
    system prompt) and a new plan with new actions are no reset.

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
    observes: ClassVar[tuple[type[Event], ...]] = (
        MessageSent,
        ModelCalled,
        ToolCalled,
        HistoryCleared,
    )

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
        self._opening = OpeningReplay(
            Limits(opening_share, step_share, opening_words, opening_between)
        )
        self._task = TaskReissued(task_overlap, task_actions, task_repeats, max(2, replans))
        self._asked = AskedAgain()
        self._spoke: deque[str] = deque(maxlen=AGENTS_KEPT)
        self._starts: deque[int] = deque(maxlen=8)  # digests of lines before the first turn
        self._corroborated = False
        self._messages = 0  # counted, as a log that is written twice has twice the indices
        self._lost_at, self._lost_by = 0, ""  # of the latest history that was lost
        self._dropped: Hit | None = None  # R5, until the next event: a new start explains it
        self._restarts = 0
        self._restarted_at = 0
        self._latest: dict[str, tuple[int, int]] = {}  # when R2, R3, R4 last held, and its row

    def observe(self, event: Event, signals: Signals) -> Finding | Notice | None:
        """Look at one event."""
        if isinstance(event, MessageSent) and signals.utterance is not None:
            hit = self._message(signals.utterance, event.text, signals)
        elif signals.request is not None:
            hit = self._request(signals.request, signals)
        elif signals.cleared is not None:
            self._dropped = self._cleared(signals.cleared, signals) or self._dropped
            return None
        else:
            hit = self._reissue(signals)
        if self._dropped is not None:
            hit, self._dropped = worst((hit, self._dropped)), None
        if hit is not None:
            return self.finding(signals=signals, **hit._asdict())
        if self._task.replanned:
            return self._new_plan(signals)
        return self._cut(signals.request, signals) if signals.request is not None else None

    def _message(self, said: Utterance, text: str | None, signals: Signals) -> Hit | None:
        self._messages += 1
        anew = self._started_anew(said, signals) if said.kind == "system" else None
        again = self._reissue(signals)
        asked = self._asked.observe(said, text)
        if asked is not None:
            asked = self._near("R4", asked, signals)
        opened = self._opening.observe(said, text or "", signals, self._corroborated)
        if opened is not None:
            opened = self._near("R2", opened._replace(key=self._restart()), signals)
        if said.by_model:
            self._note(said.agent)
        if anew is again is asked is opened is None:
            return None
        return worst((anew, again, asked, opened))

    def _note(self, agent: str) -> None:
        """A model spoke for an agent."""
        if agent not in self._spoke:
            self._spoke.append(agent)
        if self._corroborated and agent == self._opening.lead:
            self._corroborated = False

    def _reissue(self, signals: Signals) -> Hit | None:
        near = self._corroborated and self._messages - self._lost_at <= NEAR
        hit = self._task.observe(signals, near)
        if hit is None:
            return None
        if hit.severity >= Severity.ALERT:
            hit = hit._replace(key=self._restart(), owner=self._lost_by)
        return self._near("R3", hit, signals)

    def _request(self, request: Request, signals: Signals) -> Hit | None:
        if request.change not in _LOST or signals.finished is not None:
            return None
        severity, what = _LOST[request.change]
        self._lost(request.agent)
        counts = f" ({request.before} messages before, {request.messages} now)"
        return Hit(
            severity,
            self._restart(),
            request.agent,
            (signals.index,) if signals.index >= 0 else (),
            f"The model request of {request.agent or 'an agent'} {what}"
            + (counts if request.before else ""),
        )

    def _cleared(self, agent: str, signals: Signals) -> Hit | None:
        if not (agent in self._spoke if agent else signals.turns):
            return None
        what = f"The history of {agent or 'all agents'} was dropped in mid-run"
        return self._lifecycle(agent, what, signals)

    def _started_anew(self, said: Utterance, signals: Signals) -> Hit | None:
        if not said.digest:
            return None
        if not signals.turns:
            self._starts.append(said.digest)
        elif said.digest in self._starts:
            what = f"{said.agent} started itself anew at row {said.row}"
            return self._lifecycle(said.agent, what, signals)
        return None

    def _lifecycle(self, agent: str, what: str, signals: Signals) -> Hit | None:
        if signals.finished is not None:
            return None
        self._lost(agent)
        return Hit(Severity.SUSPECT, self._restart(), agent, (signals.index,), what)

    def _lost(self, agent: str) -> None:
        self._corroborated, self._lost_at, self._lost_by = True, self._messages, agent

    def _restart(self) -> str:
        """Key of the present restart: what several rules see within a few messages is one."""
        if not self._restarts or self._messages - self._restarted_at > NEAR:
            self._restarts += 1
        self._restarted_at = self._messages
        return f"restart:{self._restarts}"

    def _near(self, rule: str, hit: Hit, signals: Signals) -> Hit:
        """Let two weak signs close together make a stronger one; in one message they are one."""
        others = [latest for name, latest in self._latest.items() if name != rule]
        self._latest[rule] = self._messages, signals.index
        recent = [row for at, row in others if 0 < self._messages - at <= NEAR]
        if hit.severity >= Severity.WARN or not recent:
            return hit
        return hit._replace(severity=Severity.WARN, evidence=(*recent, *hit.evidence))

    def _new_plan(self, signals: Signals) -> Notice:
        return self.notice(
            "replan",
            signals,
            key=str(self._task.replans),
            agent=signals.utterance.agent if signals.utterance else "",
            evidence=(signals.index,),
            explanation="The orchestrator made a new plan from the task",
        )

    def _cut(self, request: Request, signals: Signals) -> Notice | None:
        if request.change not in ("compaction", "trim"):
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
