"""What is wrong with how a run is meant to stop: known at its start, or soon after."""

from __future__ import annotations

from typing import NamedTuple

from mastwatch.events import Event, MessageSent, RunStarted
from mastwatch.signals import Signals


class Remark(NamedTuple):
    """Something to be said once. The fields are those of ``Detector.notice``."""

    name: str
    key: str
    explanation: str


class ContractChecks:
    """Compares what ends a run with what its agents have been told.

    - A prompt's token was destroyed by escapes, or is not what the framework looks for.
    - The framework looks for a token that no prompt asks for. This takes the system prompt of the
      first agent that speaks, and is decided then: by that time the task is known, too.
    - The framework is sure that nothing caps the run, or only 10,000 messages or more.
    """

    def __init__(self) -> None:
        self._pending: list[Remark] = []
        self._mismatched = False
        self._prompted: frozenset[str] = frozenset()  # agents whose prompt is known
        self._listening = False  # for a prompt that asks for the token
        self._tokens: tuple[str, ...] = ()

    def note(self, event: Event, signals: Signals) -> None:
        """Take an event in."""
        if isinstance(event, RunStarted):
            if not event.resumed:
                self._begin(event)
        elif self._listening:
            self._listen(event, signals)
        if not self._mismatched and (signals.damaged or signals.mismatch):
            self._mismatched = True
            self._pending.append(_mismatch(signals))

    def next(self) -> Remark | None:
        """Take the next thing to be said."""
        return self._pending.pop(0) if self._pending else None

    def _begin(self, event: RunStarted) -> None:
        contract = event.contract
        if contract.uncapped:
            limit = contract.source or "a limit"
            self._pending.append(
                Remark(
                    "no_turn_cap",
                    "",
                    f"Nothing stops this run before 10,000 messages if no agent ends it: lower "
                    f"{limit}",
                )
            )
        self._tokens = tuple(token.casefold() for token in contract.tokens)
        self._prompted = frozenset(event.prompts)
        told = (*event.prompts.values(), event.task)
        self._listening = bool(self._tokens and self._prompted) and not self._asks(*told)

    def _listen(self, event: Event, signals: Signals) -> None:
        if isinstance(event, MessageSent):
            said = signals.utterance
            self._listening = not self._asks(event.text)
            if self._listening and said is not None and said.by_model:
                self._listening = False
                if event.sender in self._prompted and not (signals.damaged or signals.mismatch):
                    self._pending.append(_UNASKED)

    def _asks(self, *texts: str | None) -> bool:
        told = [text.casefold() for text in texts if text]
        return any(token in text for text in told for token in self._tokens)


_UNASKED = Remark(
    "contract_mismatch",
    "unasked",
    "The termination test looks for a token that no prompt of this run asks for: tell the agents "
    "when to say it",
)


def _mismatch(signals: Signals) -> Remark:
    what = (
        "holds a completion token that escapes destroyed, so that no agent can say it as meant: "
        "write it as a raw string"
        if signals.damaged
        else "asks for a completion token that the termination test does not look for: use one "
        "token in both"
    )
    return Remark("contract_mismatch", f"{signals.damaged:x}", f"A prompt of this run {what}")
