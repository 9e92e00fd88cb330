"""Rule T6: the work is done, and the agents go on to confirm it to each other."""

from __future__ import annotations

from collections import deque
from itertools import pairwise

from mastwatch.findings import Severity
from mastwatch.signals import Signals, Utterance
from mastwatch_detectors._hit import Hit, rows

AGENTS_KEPT = 64
ROUTING_WORDS = 8
"""Messages shorter than that name the next speaker or the like: they confirm nothing."""


class Confirmations:
    """Counts messages that bring nothing new, at tasks of numbers.

    *Idle* is a model's message without a tool and without a number that the run had not met, once
    somebody got somewhere: before that the talk is a plan. *Empty* is an idle message that also
    asks nothing and shows neither formula nor code.

    ``SUSPECT``: ``suspect`` idle messages, and somebody speaks for the second time among them.

    ``WARN``: the group agrees, and ``warn`` empty messages in a row, or ``stuck`` of at most
    ``words`` words on average in which the floor changes hands once at most: nobody else has
    anything to add, and still they talk. The group agrees when somebody else states a number again
    that the latest work gave, or when half of the idle messages say so in words.

    A message that states the answer in due form fires nothing: it may be the end.
    """

    def __init__(self, suspect: int, warn: int, stuck: int, words: int) -> None:
        self._suspect = suspect
        self._warn = warn
        self._stuck = stuck
        self._words = words
        self._heard: set[str] = set()  # agents of the run whose model spoke
        self._worked = False
        self._worker = ""  # whose message the latest work was; empty for a tool
        self._clear()

    def _clear(self) -> None:
        self._rows: list[int] = []
        self._agents: set[str] = set()
        self._agreed = False
        self._verdicts = 0
        self._idle = 0
        self._empty = 0
        self._latest: deque[tuple[str, int]] = deque(maxlen=self._stuck)  # agent, words

    def observe(self, signals: Signals) -> Hit | None:
        """Take an event in."""
        said = signals.utterance
        if signals.human or signals.calls or signals.result is not None:
            if self._idle:
                self._clear()
            self._worked = not signals.human
            self._worker = ""
            return None
        # Of a message that is empty or withheld nothing is known.
        if said is None or not signals.numeric or not said.by_model or not said.digest:
            return None
        if said.new_numbers:
            self._work(said)
            return None
        if len(self._heard) < AGENTS_KEPT:
            self._heard.add(said.agent)
        if not self._worked:
            return None
        self._note(said)
        return None if said.answer or said.claim else self._hit(said)

    def _work(self, said: Utterance) -> None:
        self._clear()
        self._worked = True
        self._worker = said.agent
        if len(self._heard) < AGENTS_KEPT:
            self._heard.add(said.agent)

    def _note(self, said: Utterance) -> None:
        self._idle += 1
        self._rows = [*self._rows[-31:], said.row]
        if len(self._agents) < AGENTS_KEPT:
            self._agents.add(said.agent)
        if not self._agreed:
            self._agreed = said.restates and said.agent != self._worker
            self._verdicts += not self._agreed and said.verdict
        if said.plain and said.words >= ROUTING_WORDS:
            self._empty += 1
            self._latest.append((said.agent, said.words))
        else:
            self._empty = 0
            self._latest.clear()

    def _hit(self, said: Utterance) -> Hit | None:
        if self._idle < self._suspect or self._idle <= len(self._agents):
            return None
        agreed = self._agreed or 2 * self._verdicts >= self._idle
        # One agent alone has nobody to confirm anything to.
        over = agreed and len(self._heard) > 1 and (self._empty >= self._warn or self._floor_stuck)
        return Hit(
            Severity.WARN if over else Severity.SUSPECT,
            "chatter",
            "",
            rows(self._rows),
            f"{self._idle} messages in a row without a tool or a new number, "
            f"{self._empty} of them, the latest, without a question, formula or code; "
            f"last spoke {said.agent}",
        )

    @property
    def _floor_stuck(self) -> bool:
        latest = list(self._latest)
        if len(latest) < self._stuck:
            return False
        agents = [agent for agent, _ in latest]
        changes = sum(a != b for a, b in pairwise(agents))
        return changes <= 1 and sum(words for _, words in latest) <= self._words * self._stuck
