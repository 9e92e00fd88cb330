"""Rule T3: one side says the same over and over while the other has nothing left to do."""

from __future__ import annotations

from collections import OrderedDict

from mastwatch.findings import Severity
from mastwatch.signals import Signals, Utterance
from mastwatch_detectors._hit import Hit, level, rows

AGENTS_KEPT = 24
NEW_SHARE = 0.5
"""Share of new words in a partner's messages from which it is still at work."""
SHORT_SHARE = 0.5
"""Share of the usual length under which messages tell of no work, however new their words."""
_PACE = 8  # messages that the usual length is averaged over
_SIGNS = ".,;:!?*\"'`()[]"
_WORD = 4  # letters; shorter words are in every message
_DENSE = "\u0e00"  # the first letter of scripts in which one to three letters make a word


class _Nag:
    __slots__ = ("after", "before", "digest", "heard", "new", "rows", "usual")

    def __init__(self, digest: int, row: int, before: bool, usual: float) -> None:
        self.digest = digest
        self.rows = [row]
        self.before = before  # the partner had made a final statement before the first nag
        self.after = False  # and has made one since
        self.usual = usual  # words of a model's message before the first nag
        # Lists: made for every message, and a deque takes five times as long to make.
        self.heard: list[frozenset[str]] = []  # words of partners since then, the latest
        self.new: list[float] = []  # how much of what they said was new, 0 to 1, the latest

    @property
    def final(self) -> bool:
        return self.before and self.after

    @property
    def working(self) -> bool:
        """The partner has come to no end and says new things each time: the nag drives work on."""
        if self.before or self.after or not self.new:
            return False
        return sum(self.new) >= NEW_SHARE * len(self.new)

    def hear(self, words: frozenset[str], length: int) -> None:
        """Take in what a partner said."""
        if not words:
            return
        if length < SHORT_SHARE * self.usual:
            self.add(0.0)
        elif self.heard:
            self.add(len(words.difference(*self.heard)) / len(words))
        self.heard = [*self.heard[-3:], words]

    def add(self, new: float) -> None:
        """Take in how much of a partner's message was new."""
        self.new = [*self.new[-1:], new]


class Nagger:
    """Counts how often a side without a model repeats its exact words, no tool used between.

    A model that repeats itself is FM-1.3, unless its partner has given a final answer. While the
    partner goes on with new work, as where a proxy is set up to say "please continue", it is
    ``SUSPECT`` at most. New are numbers, where the task is one of them, else words: whoever says
    the same in other words reuses most of them, and who has nothing more to say is brief.
    """

    def __init__(self, warn: int, alert: int, final_suspect: int, min_words: int) -> None:
        self._steps = {Severity.WARN: warn, Severity.ALERT: alert}
        self._final_steps = {**self._steps, Severity.SUSPECT: final_suspect}
        self._min_words = min_words
        self._nags: OrderedDict[str, _Nag] = OrderedDict()
        self._final_by = ""  # who made the latest final statement
        self._nagging = False  # a program has spoken: somebody there is who may nag
        self._programs: set[str] = set()
        self._usual = 0.0  # words of a model's message

    def observe(self, signals: Signals) -> Hit | None:
        """Take an event in."""
        said = signals.utterance
        if signals.human or signals.result is not None or (said and said.kind == "code"):
            self._nags.clear()
            self._final_by = ""
            return None
        if said is None or said.kind == "system" or said.role in ("system", "tool"):
            return None
        self._note_final(said)
        self._note_work(said, numeric=signals.numeric)
        if said.words < self._min_words or said.calls:
            return None
        nag = self._nags.get(said.agent)
        if nag is None or nag.digest != said.digest:
            before = self._final_by not in ("", said.agent)
            self._nags[said.agent] = _Nag(said.digest, said.row, before, self._usual)
            self._nags.move_to_end(said.agent)
            if len(self._nags) > AGENTS_KEPT:
                self._nags.popitem(last=False)
            return None
        nag.rows.append(said.row)
        if len(nag.rows) > 64:
            del nag.rows[1]
        if said.by_model and not nag.final:
            return None
        return self._hit(said, nag)

    def _note_final(self, said: Utterance) -> None:
        if not said.by_model:
            self._nagging = True
            if len(self._programs) < AGENTS_KEPT:
                self._programs.add(said.agent)
        elif said.answer or said.claim or (self._nagging and (said.unsolvable or said.settled)):
            self._final_by = said.agent
            for agent, nag in self._nags.items():
                nag.after = nag.after or agent != said.agent

    def _note_work(self, said: Utterance, *, numeric: bool) -> None:
        if not said.by_model:
            return
        if said.words:
            self._usual += (said.words - self._usual) / _PACE if self._usual else said.words
        if not self._nagging:
            return
        nags = [self._nags[agent] for agent in self._programs if agent in self._nags]
        if numeric:
            for nag in nags:
                nag.add(float(said.new_numbers > 0))
        elif nags:
            start = frozenset(word.strip(_SIGNS) for word in said.start)
            words = frozenset(w for w in start if len(w) >= _WORD or w >= _DENSE) or start
            for nag in nags:
                nag.hear(words, said.words)

    def _hit(self, said: Utterance, nag: _Nag) -> Hit | None:
        times = len(nag.rows)
        severity = level(times, self._final_steps if nag.final else self._steps)
        if severity is None:
            return None
        if nag.working:
            severity = min(severity, Severity.SUSPECT)
        why = (
            "although a final statement had been made" if nag.final else "with no tool used between"
        )
        return Hit(
            severity,
            f"nag:{nag.digest:x}",
            said.agent,
            rows(nag.rows),
            f"{said.agent} said exactly the same {times} times, {why}",
        )
