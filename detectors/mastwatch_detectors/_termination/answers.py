"""Rules T5 and T2: the answer is there already, or the budget is nearly gone."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from mastwatch.findings import Severity
from mastwatch.signals import Signals
from mastwatch_detectors._hit import Hit

ANSWERS_KEPT = 32
BUDGET_FLOOR = 6
"""Messages before which no budget is said to be nearly gone: a short chat is meant to be short."""


class _Stated(NamedTuple):
    row: int
    turn: int
    agent: str


class Restated:
    """Rule T5: a final value is stated again after several turns in between.

    Turns that use a tool do not count: to check an answer by code and state it again is no fault.
    """

    def __init__(self, gap: int) -> None:
        self._gap = gap
        self._stated: OrderedDict[int, _Stated] = OrderedDict()
        self._idle = 0  # turns so far that used no tool

    def reopen(self) -> None:
        """A person spoke: the question may be another now."""
        self._stated.clear()

    def observe(self, signals: Signals) -> Hit | None:
        """Take an event in."""
        said = signals.utterance
        if said is not None and said.by_model and not said.calls:
            self._idle += 1
        if said is None or not said.answer:
            return None
        first = self._stated.get(said.answer)
        if first is None:
            self._stated[said.answer] = _Stated(said.row, self._idle, said.agent)
            if len(self._stated) > ANSWERS_KEPT:
                self._stated.popitem(last=False)
            return None
        between = self._idle - first.turn - (not said.calls)
        if between < self._gap:
            return None
        return Hit(
            Severity.WARN,
            f"answer:{said.answer:x}",
            first.agent,
            (first.row, said.row),
            f"{said.agent} stated at row {said.row} the final value that {first.agent} had stated "
            f"at row {first.row}, {between} turns without a tool before",
        )


class Budget:
    """Rule T2: most of the messages are spent and no agent has ended the run."""

    def __init__(self, share: float) -> None:
        self._share = share

    def observe(self, signals: Signals, claimed: bool) -> Hit | None:
        """Take an event in."""
        limit = signals.contract.max_messages
        said = signals.utterance
        if claimed or said is None or said.claim or not limit or limit < 2:
            return None
        if signals.messages < max(BUDGET_FLOOR, self._share * limit):
            return None
        # Who has no word to end the run with is not to blame for using it up.
        return Hit(
            Severity.SUSPECT if signals.endable else Severity.INFO,
            "budget",
            "",
            (signals.index,),
            f"{signals.messages} of at most {limit} messages are spent and no agent has ended "
            "the run",
        )
