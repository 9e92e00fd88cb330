"""FM-1.4: an agent asks again for what was cut out of its history."""

from __future__ import annotations

from collections import deque
from typing import ClassVar, NamedTuple, TypeVar
from zlib import crc32

from mastwatch.detector import Detector
from mastwatch.events import Event, HistoryCleared, ModelCalled, ToolReturned
from mastwatch.findings import Finding, Notice, Severity
from mastwatch.signals import Call, RequestChange, Result, Signals
from mastwatch_detectors._hints.tools import Purposes

AGENTS_KEPT = 64
ANSWERS_KEPT = 64
"""Answers that are remembered, the latest of all agents."""
CHANGES_KEPT = 8

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")

_LOST: dict[RequestChange, str] = {
    "trim": "was trimmed",
    "compaction": "was summarised",
    "reset": "started over",
    "task_lost": "lost the task",
    "shrunk": "shrank",
}


class _Told(NamedTuple):
    row: int
    digest: int
    at: int  # messages and results before it; a log that is written twice has twice the rows


class _Loss(NamedTuple):
    row: int
    at: int
    how: str
    kept: int  # messages that were left


class _Change:
    """A call that may have changed the world."""

    __slots__ = ("row", "words")

    def __init__(self, row: int, call: Call) -> None:
        self.row = row
        # What a command touches is not told by its words; what a tool touches is.
        self.words = frozenset(call.argument_words) if call.mutating else None

    def bears_on(self, call: Call) -> bool:
        """Whether it is about the same things as another call, as far as arguments tell."""
        return self.words is None or not self.words.isdisjoint(call.argument_words)


class LossOfConversationHistory(Detector):
    """Notices an agent that has to ask a tool again after its history was cut.

    The rule, all of it within one agent:

    - its model request was trimmed, summarised, emptied or started over, and
    - after that it makes a call which had been answered before that, further back than what was
      left of the history reaches, and
    - the tool gives the same answer, so that there was nothing new to learn.

    A cut alone is by design and no finding. What was answered before a call that may have changed
    the very thing does not count (tests run again after an edit), nor do polls, errors and empty
    answers.

    Args:
        least_words: Words an answer must have; asking again for less is cheap.

    Example:
        >>> from mastwatch.testing import Script, findings
        >>> lines = [("user", f"line {n}") for n in range(9)]
        >>> terms = "The rent is due on the first of each month."
        >>> run = Script().asks("clerk", *lines[:3])
        >>> run = run.call("read_terms", {}, terms, agent="clerk")
        >>> for n in range(4, 9):
        ...     run = run.asks("clerk", *lines[:n]).say("clerk", f"Line {n} is noted.")
        >>> run = run.asks("clerk", *lines[6:]).call("read_terms", {}, terms, agent="clerk")
        >>> found = findings(run, LossOfConversationHistory)
        >>> [(f.severity.label, f.tool, f.evidence) for f in found]
        [('suspect', 'read_terms', (0, 5, 6))]

    Misses: losses that show in words only, and all of them where model requests are not seen. What
    a summary left out on purpose and an agent then looks up is flagged: that is the price of the
    cut, and a sign that it cuts too much.

    Source: Cemri et al., arXiv 2503.13657, FM-1.4.
    """

    mode: ClassVar[str] = "FM-1.4"
    name: ClassVar[str] = "loss_of_conversation_history"
    ceiling: ClassVar[Severity] = Severity.SUSPECT
    observes: ClassVar[tuple[type[Event], ...]] = (ModelCalled, ToolReturned, HistoryCleared)

    def __init__(self, *, least_words: int = 3) -> None:
        self._least = least_words
        self._losses: dict[str, _Loss] = {}  # by agent, the latest last
        self._answers: dict[int, _Told] = {}  # by agent and call
        self._results = 0
        self._purposes = Purposes()
        self._changes: deque[_Change] = deque(maxlen=CHANGES_KEPT)

    def observe(self, event: Event, signals: Signals) -> Finding | Notice | None:
        """Look at one event."""
        if signals.result is not None:
            self._results += 1
            return self._answered(signals.result, signals)
        request = signals.request
        if request is not None:
            if request.change in _LOST:
                self._lose(request.agent, _LOST[request.change], request.messages, signals)
        elif signals.cleared is not None:
            self._lose(signals.cleared, "was dropped", 0, signals)
        return None

    def _lose(self, agent: str, how: str, kept: int, signals: Signals) -> None:
        _put(self._losses, agent, _Loss(signals.index, self._at(signals), how, kept), AGENTS_KEPT)

    def _at(self, signals: Signals) -> int:
        return signals.messages + self._results

    def _changes_something(self, call: Call) -> bool:
        return call.mutating or (not call.times and self._purposes.of(call.tool) in ("run", "edit"))

    def _answered(self, result: Result, signals: Signals) -> Finding | None:
        call = result.call
        if call is None or result.error:
            return None
        if self._changes_something(call):
            self._changes.append(_Change(result.row, call))
        if call.mutating or call.poll or call.spacer:
            return None
        if not result.digest or result.empty or result.words < self._least:
            return None
        asked = call.key ^ crc32(call.agent.encode("utf-8", "surrogatepass"))
        told = _Told(result.row, result.digest, self._at(signals))
        before = _put(self._answers, asked, told, ANSWERS_KEPT)
        loss = self._losses.get(call.agent) or self._losses.get("")
        if before is None or loss is None or before.digest != result.digest:
            return None
        # Rows outnumber the messages of one agent's request, so this errs on the silent side.
        gone = before.at + loss.kept <= loss.at and loss.row <= call.row
        if not gone or any(
            change.row > before.row and change.bears_on(call) for change in self._changes
        ):
            return None
        return self.finding(
            Severity.SUSPECT,
            signals,
            key="loss",  # all that one cut has cost is one episode
            agent=call.agent,
            tool=call.tool,
            evidence=(before.row, loss.row, result.row),
            explanation=f"{call.agent} asked {call.tool} for what it had been told at row "
            f"{before.row}; its history {loss.how} at row {loss.row}",
        )


def _put(kept: dict[_Key, _Value], key: _Key, value: _Value, most: int) -> _Value | None:
    """Put a value last, forget the first one beyond a number; return what stood there."""
    before = kept.pop(key, None)
    kept[key] = value
    if len(kept) > most:
        del kept[next(iter(kept))]
    return before
