"""Rules R3 and R4: the task is given again, or a question is asked again."""

from __future__ import annotations

import re
from collections import OrderedDict

from mastwatch.findings import Severity
from mastwatch.signals import Signals, Utterance
from mastwatch_detectors._hit import Hit

AGENTS_KEPT = 24
ACTION_WORDS = 5
QUESTION_WORDS = 6
VERBATIM_WORDS = 3
_LEADS = re.compile(r"orchestrat|manager|planner|supervisor|coordinator", re.IGNORECASE)
_GREETS = re.compile(
    r"\s*(?:(?:hello|hi|hey|greetings|good (?:morning|afternoon|evening))\b[ ,!]"
    r"|(?:i am|i'm|my name is|my role is) (?:your|an?|the)\b)",
    re.IGNORECASE,
)
_COURTESY = re.compile(r"anything else|help you|assist you|further assistance", re.IGNORECASE)


class TaskReissued:
    """Rule R3: after the task is given again, the old actions follow again.

    By an orchestrator this is a new plan, by design: a notice. Only old actions after it, or a
    second new plan, make it a reset; or a history seen to be lost just before (R1, R5).
    """

    def __init__(self, overlap: float, actions: int, repeats: int, replans: int) -> None:
        self._overlap = overlap
        self._actions = actions
        self._repeats_needed = repeats
        self._replans_needed = replans
        self._left = 0
        self._row = 0
        self._repeated: list[int] = []
        self._count = 0
        self._opener = 0  # digest of the message the run was opened with
        self.replans = 0
        self.replanned = False
        """The present message is a new plan with the task in it."""

    def observe(self, signals: Signals, corroborated: bool = False) -> Hit | None:
        """Take an event in; ``corroborated`` says that a history was lost just before."""
        self.replanned = False
        said = signals.utterance
        if said is not None and said.kind == "opener" and not signals.turns:
            self._opener = self._opener or said.digest
        if said is not None and signals.turns:
            if corroborated and not said.replan and self._anew(said):
                return self._began_anew(said)
            if self._reissues(said):
                return self._reissued(said)
        if not self._left:
            return None
        for repeated, row in _steps(signals):
            self._left = max(0, self._left - 1)
            if repeated:
                self._repeated.append(row)
        if len(self._repeated) < self._repeats_needed:
            return None
        return Hit(
            Severity.WARN,
            f"reissue:{self._count}",
            "",
            (self._row, *self._repeated[:8]),
            f"The task was given again at row {self._row} and {len(self._repeated)} of the next "
            f"{self._actions} actions had been done before",
        )

    def _reissues(self, said: Utterance) -> bool:
        if said.task_overlap < self._overlap or said.kind == "system":
            return False
        # A worker that quotes the task in its answer does not give it again.
        return not said.by_model or said.replan or bool(_LEADS.search(said.agent))

    def _anew(self, said: Utterance) -> bool:
        return said.task_overlap >= self._overlap or bool(
            said.digest == self._opener and said.digest and said.words >= VERBATIM_WORDS
        )

    def _began_anew(self, said: Utterance) -> Hit:
        self._left, self._repeated = 0, []  # what follows could make it no surer
        self._count += 1
        return Hit(
            Severity.ALERT,
            f"reissue:{self._count}",
            said.agent,
            (said.row,),
            f"A history was dropped and {said.agent} gave the task again at row {said.row}",
        )

    def _reissued(self, said: Utterance) -> Hit | None:
        self._left, self._row, self._repeated = self._actions, said.row, []
        self._count += 1
        if said.by_model:
            self.replanned = True
            self.replans += 1
        if self.replans < self._replans_needed or not said.by_model:
            return None
        return Hit(
            Severity.WARN,
            "replans",
            said.agent,
            (said.row,),
            f"{said.agent} has made a new plan from the task {self.replans} times",
        )


def _steps(signals: Signals) -> list[tuple[bool, int]]:
    """Return the actions of an event: whether each had been done before, and its row."""
    if signals.calls:
        return [(call.times > 0, call.row) for call in signals.calls]
    said = signals.utterance
    if said is None or not said.by_model or said.words < ACTION_WORDS:
        return []
    return [(said.seen, said.row)]


class AskedAgain:
    """Rule R4: an agent asks what was answered, or introduces itself in mid-run."""

    def __init__(self) -> None:
        self._own: OrderedDict[str, int] = OrderedDict()
        self._last_by: str | None = None

    def observe(self, said: Utterance, text: str | None) -> Hit | None:
        """Take a message in."""
        spoke_last, self._last_by = self._last_by, said.agent
        if not said.by_model or text is None:
            return None
        own = self._own.pop(said.agent, 0)
        self._own[said.agent] = own + 1
        if len(self._own) > AGENTS_KEPT:
            self._own.popitem(last=False)
        asks = said.seen and said.words >= QUESTION_WORDS and said.question
        if asks and spoke_last != said.agent and not _COURTESY.search(text[-200:]):
            what = f"asked again at row {said.row} what it had asked before"
            return Hit(
                Severity.SUSPECT,
                f"asked:{said.cluster:x}",
                said.agent,
                (said.row,),
                f"{said.agent} {what}",
            )
        if own > 3 and _GREETS.match(text):
            what = f"introduced itself at row {said.row}, its message number {own + 1}"
            return Hit(
                Severity.SUSPECT, "greeting", said.agent, (said.row,), f"{said.agent} {what}"
            )
        return None
