"""Rule T3: one side says the same over and over while the other has nothing left to do."""

from __future__ import annotations

from collections import OrderedDict, deque

from mastwatch.findings import Severity
from mastwatch.signals import Signals, Utterance
from mastwatch_detectors._hit import Hit, level, rows

AGENTS_KEPT = 24
NEW_SHARE = 0.5
"""Share of new words in a partner's messages from which it is still at work."""
_SIGNS = ".,;:!?*\"'`()[]"
_WORD = 4  # letters; shorter words are in every message


class _Nag:
    __slots__ = ("after", "before", "digest", "heard", "new", "rows")

    def __init__(self, digest: int, row: int, before: bool) -> None:
        self.digest = digest
        self.rows = [row]
        self.before = before  # the partner had made a final statement before the first nag
        self.after = False  # and has made one since
        self.heard: deque[frozenset[str]] = deque(maxlen=4)  # words of partners since then
        self.new: deque[float] = deque(maxlen=2)  # share of them that was new

    @property
    def final(self) -> bool:
        return self.before and self.after

    @property
    def working(self) -> bool:
        """The partner has come to no end and says new things each time: the nag drives work on."""
        if self.before or self.after or not self.new:
            return False
        return sum(self.new) >= NEW_SHARE * len(self.new)

    def hear(self, words: frozenset[str]) -> None:
        """Take in what a partner said."""
        if not words:
            return
        if self.heard:
            self.new.append(len(words.difference(*self.heard)) / len(words))
        self.heard.append(words)


class Nagger:
    """Counts how often a side without a model repeats its exact words, no tool used between.

    A model that repeats itself is FM-1.3, unless its partner has given a final answer. While the
    partner goes on with new work, as where a proxy is set up to say "please continue", it is
    ``SUSPECT`` at most, but not over a task of numbers, which asks for a value and no long text.
    New are words: whoever says the same in other words reuses most of them.
    """

    def __init__(self, warn: int, alert: int, final_alert: int, min_words: int) -> None:
        self._steps = {Severity.WARN: warn, Severity.ALERT: alert}
        self._final_steps = {**self._steps, Severity.ALERT: final_alert}
        self._min_words = min_words
        self._nags: OrderedDict[str, _Nag] = OrderedDict()
        self._final_by = ""  # who made the latest final statement
        self._nagging = False  # a program has spoken: somebody there is who may nag
        self._programs: set[str] = set()

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
        self._note_work(said)
        if said.words < self._min_words or said.calls:
            return None
        nag = self._nags.get(said.agent)
        if nag is None or nag.digest != said.digest:
            before = self._final_by not in ("", said.agent)
            self._nags[said.agent] = _Nag(said.digest, said.row, before)
            self._nags.move_to_end(said.agent)
            if len(self._nags) > AGENTS_KEPT:
                self._nags.popitem(last=False)
            return None
        nag.rows.append(said.row)
        if len(nag.rows) > 64:
            del nag.rows[1]
        if said.by_model and not nag.final:
            return None
        return self._hit(said, nag, numeric=signals.numeric)

    def _note_final(self, said: Utterance) -> None:
        if not said.by_model:
            self._nagging = True
            if len(self._programs) < AGENTS_KEPT:
                self._programs.add(said.agent)
        elif said.answer or said.claim or (self._nagging and said.unsolvable):
            self._final_by = said.agent
            for agent, nag in self._nags.items():
                nag.after = nag.after or agent != said.agent

    def _note_work(self, said: Utterance) -> None:
        if not said.by_model or not self._nagging:
            return
        nags = [self._nags[agent] for agent in self._programs if agent in self._nags]
        if nags:
            start = frozenset(word.strip(_SIGNS) for word in said.start)
            words = frozenset(word for word in start if len(word) >= _WORD) or start
            for nag in nags:
                nag.hear(words)

    def _hit(self, said: Utterance, nag: _Nag, *, numeric: bool) -> Hit | None:
        times = len(nag.rows)
        severity = level(times, self._final_steps if nag.final else self._steps)
        if severity is None:
            return None
        # Who has to be told three times to go on with a sum is stuck, in new words or old.
        if nag.working and not numeric:
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
