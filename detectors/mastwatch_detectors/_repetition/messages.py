"""Rules D, F and G: messages that say again what was said."""

from __future__ import annotations

import re
from collections import deque
from itertools import pairwise
from typing import NamedTuple

from mastwatch.findings import Severity
from mastwatch.signals import Result, Signals, Utterance
from mastwatch_detectors._hit import Hit, level, rows

AGENT_WINDOW = 16
RUN_WINDOW = 64
MAYBE_STALE, SURELY_NEW = 0.75, 0.95
"""Estimated new share below which a message may be stale, and above which it needs no count."""
_CHUNK = 50
_MIN_DEGENERATE = 600
_CAP = 20_000
_STRUCTURED = re.compile(r"```.*?(?:```|\Z)|^\s*(?:[|>*+-]|\d+[.)]).*$", re.DOTALL | re.MULTILINE)


class _Said(NamedTuple):
    agent: str
    cluster: int
    digest: int
    row: int
    progress: int
    acts: int


class NearDuplicate:
    """Rule D: an agent's messages nearly repeat each other and nothing is gained between.

    Where something was gained it is only a suspicion, except for the exact words again and again
    in a mere talk: no tool, no code and no person between, so what was gained was not theirs.
    """

    def __init__(self, suspect: int, warn: int, alert: int, min_words: int) -> None:
        self._steps = {Severity.SUSPECT: suspect, Severity.WARN: warn, Severity.ALERT: alert}
        self._min_words = min_words
        # The fields of ``_Said``: plain tuples, as every message makes one and few are read.
        self._said: deque[tuple[str, int, int, int, int, int]] = deque(maxlen=RUN_WINDOW)
        self._acts = 0

    def acted(self) -> None:
        """A tool or code gave a result, or a person spoke."""
        self._acts += 1

    def note(self, said: Utterance, progress: int) -> None:
        """Remember a message of a model, if it is long enough to count."""
        if said.words >= self._min_words:
            self._said.append(
                (said.agent, said.cluster, said.digest, said.row, progress, self._acts)
            )

    def observe(self, said: Utterance, signals: Signals) -> Hit | None:
        """Take a message of a model in."""
        if any(not call.times for call in said.calls):
            return None  # the same words around a new call are a batch, not a loop
        self.note(said, signals.progress)
        if not said.seen or said.words < self._min_words:
            return None
        mine = [_Said(*s) for s in self._said if s[0] == said.agent][-AGENT_WINDOW:]
        same = [s for s in mine if s.cluster == said.cluster]
        severity = level(len(same), self._steps)
        if severity is None:
            return None
        if severity > Severity.SUSPECT and same[0].progress != signals.progress:
            severity = self._in_mere_talk(said, same)
        return Hit(
            severity,
            f"message:{said.cluster:x}",
            said.agent,
            rows([max(0, s.row) for s in same]),
            f"{said.agent} said nearly the same {len(same)} times in its last {len(mine)} messages",
        )

    def _in_mere_talk(self, said: Utterance, same: list[_Said]) -> Severity:
        exact = [s for s in same if s.digest == said.digest and s.acts == self._acts]
        found = level(len(exact), self._steps) if not said.calls else None
        return found or Severity.SUSPECT


class _Stale(NamedTuple):
    row: int
    novelty: float
    progress: int
    agent: str
    tool: str = ""


class Stagnation:
    """Rule F: one output after the other holds little that the run had not met."""

    def __init__(self, suspect: float, warn: float, times: int, what: str) -> None:
        self._suspect = suspect
        self._warn = warn
        self._times = times
        self._what = what
        self._low: deque[_Stale] = deque(maxlen=times)

    def restart(self) -> None:
        """Start the count anew."""
        self._low.clear()

    def message(self, said: Utterance, signals: Signals, backed: bool) -> Hit | None:
        """Take a message in; ``backed`` says that another rule holds too.

        The estimate of its new share lets most pass. The first that may be stale is taken on
        trust; those after it are counted exactly where the estimate leaves it open.
        """
        novelty = said.novelty
        if novelty is None:
            return None
        if self._low and self._suspect <= novelty < SURELY_NEW:
            novelty = said.exact_novelty
        if novelty >= (self._suspect if self._low else MAYBE_STALE):
            self._low.clear()
            return None
        return self._count(_Stale(said.row, novelty, signals.progress, said.agent), backed)

    def result(self, result: Result, signals: Signals, backed: bool) -> Hit | None:
        """Take a tool's result in."""
        if result.novelty is None or result.call is None or result.call.poll:
            return None
        if result.error == "infra":
            return None  # weather is counted by itself (retry_storm)
        if result.novelty >= self._suspect:
            self._low.clear()
            return None
        call = result.call
        now = _Stale(result.row, result.novelty, signals.progress, call.agent, call.tool)
        return self._count(now, backed)

    def _count(self, now: _Stale, backed: bool) -> Hit | None:
        self._low.append(now)
        if len(self._low) < self._times:
            return None
        still = self._low[0].progress == now.progress
        lower = all(s.novelty < self._warn for s in self._low)
        severity = Severity.WARN if lower and still and backed else Severity.SUSPECT
        return Hit(
            severity,
            f"stagnation:{self._what}",
            "",
            tuple(s.row for s in self._low),
            f"{self._times} {self._what} in a row, the last of {now.agent or 'an agent'}, held "
            "little that was new",
            tool=now.tool if len({s.tool for s in self._low}) == 1 else "",
        )


class Degenerate:
    """Rule G: one message repeats the same stretch of text over and over."""

    def __init__(self, repeats: int, gaps: int) -> None:
        self._repeats = repeats
        self._gaps = gaps

    def observe(self, said: Utterance, text: str | None) -> Hit | None:
        """Take a message of a model in."""
        if text is None or len(text) < _MIN_DEGENERATE:
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
        if size < 2 * _CHUNK:
            return False
        recent = size // 5
        for end in (size, size * 3 // 4, size // 2):
            chunk = text[end - _CHUNK : end]
            # One search in C tells nearly all texts from those that need a closer look; what
            # comes ten times in a text came shortly before.
            if text.find(chunk, end - recent, end - 1) < 0 or chunk.isspace():
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
