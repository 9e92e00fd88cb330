"""Rule R2: the lead agent opens the work a second time."""

from __future__ import annotations

from typing import NamedTuple

from mastwatch.findings import Severity
from mastwatch.signals import Signals, Utterance
from mastwatch.signals.facts import OPENING_WORDS
from mastwatch.signals.text import containment, grams, may_hold, probes, start
from mastwatch_detectors._hit import Hit

MIN_GRAMS = 8
LEADS_KEPT = 4
"""Agents that may turn out to lead: the first ones to speak."""
_VERBATIM_WORDS = 3  # of an opening that comes back to the letter after a history was lost
_PROBES, _PROBES_FOUND = 8, 2
_PROBED_SPACED, _PROBED = (240, 6), (48, 3)  # about 40 words; a word and a half of them
_WORDS_HELD = 0.7  # of the words that so large a share of 3-grams is made of, some repeat
_START_CHARS, _KEPT_CHARS = 600, 400
_LOOKED_AT = 60  # words of a later message: worded anew, an opening grows longer
_TURNS = 8  # of all agents: a lead that speaks seldom has gone on, too


class Limits(NamedTuple):
    """When a message is an opening; the fields are those of ``ConversationReset``."""

    share: float
    step_share: float
    words: int
    between: int


class OpeningReplay:
    """Compares the lead's later messages with its first one.

    The lead is the first agent that speaks and speaks again: who speaks but once greeted. Where
    the run was opened in its name (AG2's ``initiate_chat(message=...)``) that is its opening,
    though no model wrote it.

    What counts is how much of the opening comes back, not how alike the messages are: a restart
    is worded anew and goes on differently.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._agents: dict[str, _Opened] = {}  # as they first spoke
        self._opener: dict[str, _Opened] = {}  # in whose name the run was opened
        self._first = ""  # the lead as the signals know it
        self.lead = ""
        """Who leads, as far as is known by now."""

    def observe(
        self, said: Utterance, text: str, signals: Signals, corroborated: bool
    ) -> Hit | None:
        """Take a message in; ``corroborated`` says that the history was seen to shrink."""
        if said.kind == "opener" and not self._opener and not self._agents:
            opened = self._opener[said.agent] = _Opened(self._limits)
            opened.learn(said, text, signals.turns)
        if not said.by_model:
            return None
        agent = self._agents.get(said.agent)
        if agent is None:
            if len(self._agents) >= LEADS_KEPT:
                return None
            agent = self._opener.get(said.agent) or _Opened(self._limits)
            self._agents[said.agent] = agent
        agent.turns += 1
        if agent.turns <= 2 or signals.lead != self._first:
            self._first = signals.lead
            self.lead = self._leads()
        return agent.speaks(said, text, signals, corroborated, said.agent == self.lead)

    def _leads(self) -> str:
        first = self._agents.get(self._first)
        if first is not None and first.turns + (self._first in self._opener) > 1:
            return self._first
        again = (name for name, agent in self._agents.items() if agent.turns > 1)
        return next(again, self._first)


class _Opened:
    """How one agent opened the work, and what it did since."""

    __slots__ = (
        "_between", "_digest", "_limits", "_pending", "_probes", "_replays", "_row",
        "_second_calls", "_second_digest", "_second_row", "_second_text", "_text", "_turn",
        "_words", "own", "turns",
    )  # fmt: skip

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.own = 0
        """Its messages with content so far, at most 2, the run's opener among them."""
        self.turns = 0
        """Its messages that its model wrote."""
        self._row = 0
        self._digest = 0
        self._text = ""  # the start of it; its 3-grams would take ten times the memory
        self._probes: list[str] = []
        self._words: frozenset[str] = frozenset()  # of its start, once it leads
        self._second_row = 0
        self._second_digest = 0
        self._second_text = ""
        self._second_calls: frozenset[int] = frozenset()
        self._turn = 0  # the run's turn count at the last message that opened the work
        self._between = 0  # own messages since
        self._replays = 0
        self._pending: int | None = None  # row of a replay whose next message is awaited

    def learn(self, said: Utterance, text: str, turns: int) -> None:
        """Take in one of its first two messages."""
        self.own += 1
        if self.own == 1:
            self._row, self._digest, self._turn = said.row, said.digest, turns
            self._text = text[:_KEPT_CHARS]
            span, size = _PROBED_SPACED if self._text.isascii() else _PROBED
            self._probes = probes(text[:span], _PROBES, size)
        elif self.own == 2:
            self._second_text, self._second_row = text[:_KEPT_CHARS], said.row
            self._second_digest = said.digest
            self._second_calls = frozenset(call.key for call in said.calls)
            self._between += _share(self._text, text) < self._limits.share

    def speaks(
        self, said: Utterance, text: str, signals: Signals, corroborated: bool, leads: bool
    ) -> Hit | None:
        """Take a message of its model in."""
        if not said.digest and not (said.calls and self.own):
            return None  # the opening has words; a later step may be a bare tool call
        if self.own < 2:
            self.learn(said, text, signals.turns)
            return None
        if not leads:
            self._between += 1
            return None
        if corroborated and said.digest == self._digest and said.words >= _VERBATIM_WORDS:
            return self._opened(said, signals, corroborated)
        if said.words >= self._limits.words and self._opens(text):
            return self._opened(said, signals, corroborated)
        self._between += 1
        return self._next(said, text)

    def _opens(self, text: str) -> bool:
        # 3-grams come back with their letters and words: without a few of these the dearest test
        # is idle.
        if not may_hold(text[:_START_CHARS], self._probes, _PROBES_FOUND):
            return False
        self._words = self._words or frozenset(start(self._text, OPENING_WORDS))
        held = self._words.intersection(start(text, _LOOKED_AT))
        if len(held) < _WORDS_HELD * self._limits.share * len(self._words):
            return False
        return _share(self._text, text) >= self._limits.share

    def _opened(self, said: Utterance, signals: Signals, corroborated: bool) -> Hit | None:
        between, self._between = self._between, 0
        turns, self._turn = signals.turns - self._turn, signals.turns
        if not between:
            return None  # who never left the opening repeats a step (FM-1.3)
        self._replays += 1
        self._pending = said.row
        if between < self._limits.between and turns <= _TURNS and not corroborated:
            return None  # only if its next message follows suit
        sure = corroborated or self._replays > 1
        return self._hit(
            Severity.ALERT if sure else Severity.SUSPECT, said.agent, (self._row, said.row)
        )

    def _next(self, said: Utterance, text: str) -> Hit | None:
        row, self._pending = self._pending, None
        if row is None or not self._follows(said, text):
            return None
        return self._hit(Severity.ALERT, said.agent, (self._row, self._second_row, row, said.row))

    def _follows(self, said: Utterance, text: str) -> bool:
        """Whether it is the second message over again."""
        if said.digest and said.digest == self._second_digest:
            return True
        if _share(self._second_text, text) >= self._limits.step_share:
            return True
        return not self._second_calls.isdisjoint(call.key for call in said.calls)

    def _hit(self, severity: Severity, agent: str, evidence: tuple[int, ...]) -> Hit:
        return Hit(
            severity,
            f"opening:{self._replays}",
            agent,
            evidence,
            f"{agent}, who leads, opened the work again as at row {self._row} "
            f"(restart {self._replays})",
        )


def _share(opening: str, text: str) -> float:
    """How much of an opening a message begins with; 0 of one too short to tell."""
    part = grams(start(opening, OPENING_WORDS))
    if len(part) < MIN_GRAMS:
        return 0.0
    return containment(part, grams(start(text, _LOOKED_AT)))
