"""Rule R4: what was answered is asked again."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from mastwatch.findings import Severity
from mastwatch.signals import Utterance
from mastwatch.signals.phrases import COURTESY, GREETING, INTRODUCTION
from mastwatch_detectors._hit import Hit

AGENTS_KEPT = 24
QUESTIONS_KEPT = 64
QUESTION_WORDS = 6
ANSWER_WORDS = 5
"""An answer of fewer words, "yes, please", says nothing of what it answers."""


class _Question(NamedTuple):
    agent: str
    cluster: int
    row: int
    courtesy: bool


class AskedAgain:
    """An agent asks what was answered, or introduces itself in mid-run.

    The same question may be another one: "Shall I go on?". Given the same answer it is the same.
    """

    def __init__(self) -> None:
        self._own: dict[str, int] = {}
        self._asked: OrderedDict[int, None] = OrderedDict()
        self._open: _Question | None = None  # asked again and not answered yet
        self._last_by = ""

    def observe(self, said: Utterance, text: str | None) -> Hit | None:
        """Take a message in."""
        spoke_last, self._last_by = self._last_by, said.agent
        asked, self._open = self._open, None
        if asked is not None and _same_answer(said, asked):
            what = f"asked again at row {asked.row} and got the same answer as before"
            return _hit(Severity.WARN, asked, what, said.row)
        if not said.by_model or text is None:
            return None
        own = self._own.get(said.agent, 0)
        if own or len(self._own) < AGENTS_KEPT:
            self._own[said.agent] = own + 1
        if said.words >= QUESTION_WORDS and said.question and self._repeats(said):
            courtesy = COURTESY.within(text[-200:].casefold())
            self._open = _Question(said.agent, said.cluster, said.row, courtesy)
            if courtesy or spoke_last == said.agent:
                return None  # so far
            what = f"asked again at row {said.row} what it had asked before"
            return _hit(Severity.SUSPECT, self._open, what)
        if own > 3 and _greets(text):
            what = f"introduced itself at row {said.row}, its message number {own + 1}"
            return Hit(
                Severity.SUSPECT, "greeting", said.agent, (said.row,), f"{said.agent} {what}"
            )
        return None

    def _repeats(self, said: Utterance) -> bool:
        """Whether a question was asked before, also long ago."""
        before = said.seen or said.digest in self._asked
        self._asked[said.digest] = None
        self._asked.move_to_end(said.digest)
        if len(self._asked) > QUESTIONS_KEPT:
            self._asked.popitem(last=False)
        return before


def _same_answer(said: Utterance, asked: _Question) -> bool:
    if said.agent == asked.agent or not said.seen or said.words < ANSWER_WORDS:
        return False
    return not (asked.courtesy and said.closing)  # "No, that is all, thank you."


def _hit(severity: Severity, question: _Question, what: str, *rows: int) -> Hit:
    return Hit(
        severity,
        f"asked:{question.cluster:x}",
        question.agent,
        (question.row, *rows),
        f"{question.agent} {what}",
    )


def _greets(text: str) -> bool:
    start = text[:80].casefold()
    return GREETING.opens(start) or INTRODUCTION.opens(start)
