"""Rules D, F and G: messages that say again what was said."""

from __future__ import annotations

import re
from array import array
from collections import OrderedDict, deque
from itertools import pairwise
from typing import NamedTuple

from mastwatch.findings import Severity
from mastwatch.signals import Signals, Utterance
from mastwatch_detectors._hit import Hit, level, rows

AGENT_WINDOW = 16
AGENTS_KEPT = 24
_CHUNK = 50
_MIN_DEGENERATE = 600
_CAP = 20_000
_STRUCTURED = re.compile(r"```.*?(?:```|\Z)|^\s*(?:[|>*+-]|\d+[.)]).*$", re.DOTALL | re.MULTILINE)


class _Said(NamedTuple):
    cluster: int
    digest: int
    row: int
    progress: int
    acts: int


_FIELDS = len(_Said._fields)


class NearDuplicate:
    """Rule D: an agent's messages nearly repeat each other and nothing is gained between.

    Where something was gained it is only a suspicion, except for the exact words again and again
    in a mere talk: no tool, no code and no person between, so what was gained was not theirs.
    """

    def __init__(self, suspect: int, warn: int, alert: int, min_words: int) -> None:
        self._steps = {Severity.SUSPECT: suspect, Severity.WARN: warn, Severity.ALERT: alert}
        self._min_words = min_words
        # The numbers of ``_Said``, one message after the other: a sixth of the size of objects.
        self._said: OrderedDict[str, array[int]] = OrderedDict()
        self._acts = 0

    def acted(self) -> None:
        """A tool or code gave a result, or a person spoke."""
        self._acts += 1

    def observe(self, said: Utterance, signals: Signals) -> Hit | None:
        """Take a message in."""
        if not said.by_model or said.words < self._min_words:
            return None
        if any(not call.times for call in said.calls):
            return None  # the same words around a new call are a batch, not a loop
        mine = self._window(said.agent)
        now = _Said(said.cluster, said.digest, max(0, said.row), signals.progress, self._acts)
        mine.extend(now)
        del mine[: -AGENT_WINDOW * _FIELDS]
        if not said.seen:
            return None
        every = (_Said(*mine[at : at + _FIELDS]) for at in range(0, len(mine), _FIELDS))
        same = [s for s in every if s.cluster == said.cluster]
        severity = level(len(same), self._steps)
        if severity is None:
            return None
        if severity > Severity.SUSPECT and same[0].progress != signals.progress:
            severity = self._in_mere_talk(said, same)
        return Hit(
            severity,
            f"message:{said.cluster:x}",
            said.agent,
            rows([s.row for s in same]),
            f"{said.agent} said nearly the same {len(same)} times in its last "
            f"{len(mine) // _FIELDS} messages",
        )

    def _in_mere_talk(self, said: Utterance, same: list[_Said]) -> Severity:
        exact = [s for s in same if s.digest == said.digest and s.acts == self._acts]
        found = level(len(exact), self._steps) if not said.calls else None
        return found or Severity.SUSPECT

    def _window(self, agent: str) -> array[int]:
        window = self._said.get(agent)
        if window is None:
            window = self._said[agent] = array("Q")
            if len(self._said) > AGENTS_KEPT:
                self._said.popitem(last=False)
        else:
            self._said.move_to_end(agent)
        return window


class Stagnation:
    """Rule F: one output after the other holds little that the run had not met."""

    def __init__(self, suspect: float, warn: float, times: int, what: str) -> None:
        self._suspect = suspect
        self._warn = warn
        self._times = times
        self._what = what
        self._low: deque[tuple[int, float, int]] = deque(maxlen=times)

    def restart(self) -> None:
        """Start the count anew."""
        self._low.clear()

    def observe(
        self, agent: str, row: int, novelty: float | None, signals: Signals, backed: bool
    ) -> Hit | None:
        """Take an output in; ``backed`` says that another rule holds too."""
        if novelty is None:
            return None
        if novelty >= self._suspect:
            self._low.clear()
            return None
        self._low.append((row, novelty, signals.progress))
        if len(self._low) < self._times:
            return None
        still = self._low[0][2] == signals.progress
        lower = all(nu < self._warn for _, nu, _ in self._low)
        severity = Severity.WARN if lower and still and backed else Severity.SUSPECT
        highest = max(nu for _, nu, _ in self._low)
        return Hit(
            severity,
            f"stagnation:{self._what}",
            "",
            tuple(r for r, _, _ in self._low),
            f"{self._times} {self._what} in a row, the last of {agent or 'an agent'}, held at most "
            f"{highest:.0%} that was new",
        )


class Degenerate:
    """Rule G: one message repeats the same stretch of text over and over."""

    def __init__(self, repeats: int, gaps: int) -> None:
        self._repeats = repeats
        self._gaps = gaps

    def observe(self, said: Utterance, text: str | None) -> Hit | None:
        """Take a message in."""
        if not said.by_model or text is None or len(text) < _MIN_DEGENERATE:
            return None
        text = text[-_CAP:]
        if not self._any_loop(text):
            return None
        # Code, quotes, tables and lists repeat by nature.
        if not self._any_loop(_STRUCTURED.sub("", text)):
            return None
        return Hit(
            Severity.WARN,
            f"degenerate:{said.agent}",
            said.agent,
            (said.row,),
            f"{said.agent} repeats one stretch of text at least {self._repeats} times "
            f"inside message {said.row}",
        )

    def _any_loop(self, text: str) -> bool:
        """Try stretches from three places: a model that got stuck stays stuck to the end."""
        size = len(text)
        for end in (size, size * 3 // 4, size // 2):
            chunk = text[max(0, end - _CHUNK) : end]
            # One search in C tells nearly all texts from those that need a closer look.
            if text.find(chunk, 0, end - 1) < 0 or len(chunk) < _CHUNK or not chunk.strip():
                continue
            if self._loops(text, chunk):
                return True
        return False

    def _loops(self, text: str, chunk: str) -> bool:
        found: list[int] = []
        at = text.find(chunk)
        while at >= 0 and len(found) < 40:
            found.append(at)
            at = text.find(chunk, at + 1)
        gaps = {b - a for a, b in pairwise(found)}
        return len(found) >= self._repeats and len(gaps) <= self._gaps
