"""Rule R2: the lead agent opens the work a second time."""

from __future__ import annotations

from typing import NamedTuple

from mastwatch.findings import Severity
from mastwatch.signals import Signals, Utterance
from mastwatch_detectors._hit import Hit

MIN_GRAMS = 8
_VERBATIM_WORDS = 3  # of an opening that comes back to the letter after a history was lost
_TURNS = 8  # of all agents: a lead that speaks seldom has gone on, too


class _Opener(NamedTuple):
    agent: str = ""
    row: int = 0
    digest: int = 0
    grams: frozenset[tuple[str, str, str]] = frozenset()


class OpeningReplay:
    """Compares the lead's later messages with its first one.

    Where the run was opened in the lead's name (AG2's ``initiate_chat(message=...)``) that is the
    opener, though no model wrote it.

    What counts is how much of the opening comes back, not how alike the messages are: a restart
    is worded anew and goes on differently.
    """

    def __init__(self, share: float, step_share: float, min_words: int, min_between: int) -> None:
        self._share = share
        self._min_between = min_between
        self._step_share = step_share
        self._min_words = min_words
        self._own = 0
        self._lead = ""
        self._opener = _Opener()
        self._digest = 0
        self._opening: frozenset[tuple[str, str, str]] = frozenset()
        self._words: frozenset[str] = frozenset()
        self._second: frozenset[tuple[str, str, str]] = frozenset()
        self._second_calls: frozenset[int] = frozenset()
        self._first_row = 0
        self._second_row = 0
        self._replays = 0
        self._turn = 0  # the run's turn count at the last message that opened the work
        self._between = 0  # own messages since the last that opened the work
        self._pending: int | None = None  # row of a replay whose next message is awaited

    def observe(self, said: Utterance, signals: Signals, corroborated: bool) -> Hit | None:
        """Take a message in; ``corroborated`` says that the history was seen to shrink."""
        if said.kind == "opener" and not self._opener.agent:
            self._opener = _Opener(said.agent, said.row, said.digest, said.opening)
        if said.agent != signals.lead or not said.by_model:
            return None
        if said.agent != self._lead:
            self._follow(said.agent)
        if not said.digest and not (said.calls and self._own):
            return None  # the opening has words; a later step may be a bare tool call
        own, self._own = self._own, self._own + 1
        if own < 2:
            self._learn(own, said, signals)
            return None
        if corroborated and said.digest == self._digest and said.words >= _VERBATIM_WORDS:
            return self._opened(said, signals, corroborated)
        if len(self._opening) < MIN_GRAMS:
            return None
        if said.words >= self._min_words and self._opens(said):
            return self._opened(said, signals, corroborated)
        self._between += 1
        return self._next(said)

    def _follow(self, lead: str) -> None:
        """Begin with another lead: its opener, if it gave one, was its first message."""
        self._lead, self._own, self._between, self._pending = lead, 0, 0, None
        if self._opener.agent == lead:
            self._own = 1
            self._open(self._opener, 0)

    def _open(self, opener: _Opener, turns: int) -> None:
        self._opening, self._first_row, self._turn = opener.grams, opener.row, turns
        self._digest = opener.digest
        self._words = frozenset(word for gram in self._opening for word in gram)

    def _learn(self, own: int, said: Utterance, signals: Signals) -> None:
        if own == 0:
            self._open(_Opener(said.agent, said.row, said.digest, said.opening), signals.turns)
            return
        self._second, self._second_row = said.opening, said.row
        self._second_calls = frozenset(call.key for call in said.calls)
        self._between += not self._opening or _share(self._opening, said) < self._share

    def _opens(self, said: Utterance) -> bool:
        # 3-grams come back with their words: without most of these the dearer test is idle.
        if len(self._words.intersection(said.start)) < 0.75 * self._share * len(self._words):
            return False
        return _share(self._opening, said) >= self._share

    def _opened(self, said: Utterance, signals: Signals, corroborated: bool) -> Hit | None:
        between, self._between = self._between, 0
        turns, self._turn = signals.turns - self._turn, signals.turns
        if not between:
            return None  # who never left the opening repeats a step (FM-1.3)
        self._replays += 1
        self._pending = said.row
        if between < self._min_between and turns <= _TURNS and not corroborated:
            return None  # only if its next message follows suit
        sure = corroborated or self._replays > 1
        return self._hit(
            Severity.ALERT if sure else Severity.SUSPECT, said.agent, (self._first_row, said.row)
        )

    def _next(self, said: Utterance) -> Hit | None:
        row, self._pending = self._pending, None
        if row is None:
            return None
        same_words = len(self._second) >= MIN_GRAMS and (
            _share(self._second, said) >= self._step_share
        )
        if not same_words and self._second_calls.isdisjoint(call.key for call in said.calls):
            return None
        return self._hit(
            Severity.ALERT, said.agent, (self._first_row, self._second_row, row, said.row)
        )

    def _hit(self, severity: Severity, agent: str, evidence: tuple[int, ...]) -> Hit:
        return Hit(
            severity,
            f"opening:{self._replays}",
            agent,
            evidence,
            f"{agent}, who leads, opened the work again as at row {self._first_row} "
            f"(restart {self._replays})",
        )


def _share(part: frozenset[tuple[str, str, str]], said: Utterance) -> float:
    return len(part & said.opening) / len(part)
