"""FM-1.5: agents do not notice that they are done."""

from __future__ import annotations

from typing import ClassVar

from mastwatch.detector import Detector
from mastwatch.events import (
    Event,
    HumanReplied,
    MessageSent,
    RunFinished,
    RunStarted,
    ToolCalled,
    ToolReturned,
)
from mastwatch.findings import Finding, Notice
from mastwatch.signals import Signals
from mastwatch_detectors._hit import worst
from mastwatch_detectors._termination.answers import Budget, Restated
from mastwatch_detectors._termination.chatter import Goodbyes
from mastwatch_detectors._termination.claim import AfterClaim
from mastwatch_detectors._termination.contract import ContractChecks
from mastwatch_detectors._termination.nagger import Nagger
from mastwatch_detectors._termination.talk import Confirmations


class TerminationUnawareness(Detector):
    r"""Notices runs that go on although they are over.

    Rules; the most severe speaks:

    - T1, after the claim: an agent said the completion token (alone on the last line or after a
      finished sentence) or called a finishing tool, and the run goes on. After ``FINAL ANSWER``,
      where no contract names it, only ``SUSPECT`` while each later agent is new and speaks once.
    - T2, budget: most messages are spent, 6 at least, and nobody has ended the run; only
      ``SUSPECT``, and ``INFO`` where the limit is the only end there is: no token in contract or
      prompts.
    - T3, nagger: a proxy repeats its exact words while its partner has nothing left to do; only
      ``SUSPECT`` while the partner has made no final statement and goes on with new numbers or,
      at a task that is not about numbers, in new words.
    - T4, goodbyes: farewells, or empty messages, in a row. Proxies of a group that have nothing
      to say in their turn are none.
    - T5, answered already: a final value is stated again after several turns.
    - T6, chatter: agents confirm each other and bring nothing new (numeric tasks). ``WARN`` once
      the outcome has been stated again and the talk stays with one or two agents, or goes on long.

    An answer marker such as ``\boxed{}`` in mid-run is no claim. A token in the task, a system
    prompt, a canned reply, quotes or a code fence is none either. A person's message reopens the
    run. Notices: ``contract_mismatch`` when a prompt asks for a token that cannot match or none
    asks for the one that ends the run, ``no_turn_cap`` when nothing caps the run below 10,000
    messages, ``budget_exhausted`` when the run's cap ended it and no agent had.

    Args:
        work_warn: Working messages after the claim for ``WARN`` (T1); a tool call is ``ALERT``.
        work_alert: The same for ``ALERT``.
        echo_info: Echoes after the claim for ``INFO``.
        echo_warn: The same for ``WARN``.
        budget_share: Share of the contract's messages for ``SUSPECT`` (T2), 0 to 1.
        nag_warn: Equal messages of one side for ``WARN`` (T3).
        nag_alert: The same for ``ALERT``.
        nag_final_suspect: The same for ``SUSPECT`` if the partner made a final statement (answer,
            claim, "cannot be solved") before the first and again since.
        nag_words: Words such a message must have.
        goodbye_info: Farewells in a row by two agents or more for ``INFO`` (T4).
        goodbye_warn: The same for ``WARN``.
        goodbye_alert: The same for ``ALERT``.
        empty_warn: Empty messages in a row for ``WARN``.
        empty_alert: The same for ``ALERT``.
        answer_gap: Turns between two statements of a final value for ``WARN`` (T5).
        chatter_suspect: Messages in a row without tool or new number for ``SUSPECT`` (T6).
        chatter_warn: How many of them, the latest, ask nothing and show no formula or code, for
            ``WARN``, once the group agrees.
        chatter_stuck: How many are enough for ``WARN`` while the floor changes hands once at most.
        chatter_words: Words that those have at most on average.

    Example:
        >>> from mastwatch.events import MessageSent
        >>> detector, signals = TerminationUnawareness(), Signals("run-1")
        >>> texts = ["The sum is 12. TERMINATE", "Let us now check every step of it once again."]
        >>> for row, text in enumerate(texts):
        ...     event = MessageSent(run_id="run-1", index=row, sender=f"agent-{row}", text=text)
        ...     signals.update(event)
        ...     found = detector.observe(event, signals)
        >>> found.severity.label, found.agent, found.evidence
        ('warn', 'agent-1', (0, 1))

    Misses: praise in other words for a task without numbers, a solved task that nobody calls
    solved. Debates whose agents state answers round by round fire T5 by design:
    raise ``answer_gap`` there. ``nag_warn=2`` is one message faster and much less sure.

    Source: Cemri et al., arXiv 2503.13657, FM-1.5; what must stay silent:
    ``tests/detectors/test_traps_termination.py``.
    """

    mode: ClassVar[str] = "FM-1.5"
    name: ClassVar[str] = "termination_unawareness"
    observes: ClassVar[tuple[type[Event], ...]] = (
        RunStarted,
        MessageSent,
        ToolCalled,
        ToolReturned,
        HumanReplied,
        RunFinished,
    )

    def __init__(
        self,
        *,
        work_warn: int = 1,
        work_alert: int = 2,
        echo_info: int = 1,
        echo_warn: int = 2,
        budget_share: float = 0.8,
        nag_warn: int = 3,
        nag_alert: int = 4,
        nag_final_suspect: int = 2,
        nag_words: int = 5,
        goodbye_info: int = 3,
        goodbye_warn: int = 4,
        goodbye_alert: int = 6,
        empty_warn: int = 2,
        empty_alert: int = 3,
        answer_gap: int = 3,
        chatter_suspect: int = 3,
        chatter_warn: int = 10,
        chatter_stuck: int = 4,
        chatter_words: int = 75,
    ) -> None:
        self._claim = AfterClaim(work_warn, work_alert, echo_info, echo_warn)
        # One message is no row of them: limits of 1 must not fire on the first.
        self._nagger = Nagger(
            max(2, nag_warn), max(2, nag_alert), max(2, nag_final_suspect), nag_words
        )
        self._goodbyes = Goodbyes(
            max(2, goodbye_info),
            max(2, goodbye_warn),
            max(2, goodbye_alert),
            max(2, empty_warn),
            max(2, empty_alert),
        )
        self._restated = Restated(max(1, answer_gap))
        self._budget = Budget(budget_share)
        self._talk = Confirmations(
            max(2, chatter_suspect), max(2, chatter_warn), max(2, chatter_stuck), chatter_words
        )
        self._contract = ContractChecks()

    def observe(self, event: Event, signals: Signals) -> Finding | Notice | None:
        """Look at one event."""
        self._contract.note(event, signals)
        if signals.human or (isinstance(event, RunStarted) and not event.resumed):
            self._restated.reopen()
            self._claim.reopen()
        text = event.text if isinstance(event, MessageSent) else None
        hit = worst(
            (
                self._claim.observe(signals),
                self._nagger.observe(signals),
                self._goodbyes.observe(signals, text),
                self._restated.observe(signals),
                self._talk.observe(signals),
                self._budget.observe(signals, self._claim.claimed),
            )
        )
        if hit is not None:
            return self.finding(signals=signals, **hit._asdict())
        if isinstance(event, RunFinished):
            return self._exhausted(event, signals)
        remark = self._contract.next()
        if remark is None:
            return None
        evidence = (signals.index,) if signals.index >= 0 else ()
        return self.notice(signals=signals, evidence=evidence, **remark._asdict())

    def _exhausted(self, event: RunFinished, signals: Signals) -> Notice | None:
        if event.outcome != "limit" or self._claim.claimed:
            return None
        return self.notice(
            "budget_exhausted",
            signals,
            explanation=f"The run's limit ended it after {signals.messages} messages; no agent "
            "had said it was done",
        )
