"""Rule T3: one side says the same over and over while the other has nothing left to do."""

from __future__ import annotations

from collections import OrderedDict

from mastwatch.findings import Severity
from mastwatch.signals import Signals, Utterance
from mastwatch_detectors._hit import Hit, level, rows

AGENTS_KEPT = 24


class _Nag:
    __slots__ = ("after", "before", "digest", "rows")

    def __init__(self, digest: int, row: int, before: bool) -> None:
        self.digest = digest
        self.rows = [row]
        self.before = before  # the partner had made a final statement before the first nag
        self.after = False  # and has made one since

    @property
    def final(self) -> bool:
        return self.before and self.after


class Nagger:
    """Counts how often a side without a model repeats its exact words, no tool used between.

    A model that repeats itself is FM-1.3, unless its partner has given a final answer.
    """

    def __init__(self, warn: int, alert: int, final_alert: int, min_words: int) -> None:
        self._steps = {Severity.WARN: warn, Severity.ALERT: alert}
        self._final_steps = {**self._steps, Severity.ALERT: final_alert}
        self._min_words = min_words
        self._nags: OrderedDict[str, _Nag] = OrderedDict()
        self._final_by = ""  # who made the latest final statement
        self._nagging = False  # a program has spoken: somebody there is who may nag

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
        return self._hit(said, nag)

    def _note_final(self, said: Utterance) -> None:
        if not said.by_model:
            self._nagging = True
        elif said.answer or said.claim or (self._nagging and said.unsolvable):
            self._final_by = said.agent
            for agent, nag in self._nags.items():
                nag.after = nag.after or agent != said.agent

    def _hit(self, said: Utterance, nag: _Nag) -> Hit | None:
        times = len(nag.rows)
        severity = level(times, self._final_steps if nag.final else self._steps)
        if severity is None:
            return None
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
