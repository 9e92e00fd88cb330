"""Rule R3: the task is given again."""

from __future__ import annotations

from mastwatch.findings import Severity
from mastwatch.signals import Signals, Utterance
from mastwatch.signals.phrases import LEADS
from mastwatch_detectors._hit import Hit

ACTION_WORDS = 5
VERBATIM_WORDS = 3


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
        self._repeated: dict[int, int] = {}  # row by action: one that is stuck is no old plan
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
        for action, repeated, row in _steps(signals):
            self._left = max(0, self._left - 1)
            if repeated:
                self._repeated.setdefault(action, row)
        if len(self._repeated) < self._repeats_needed:
            return None
        return Hit(
            Severity.WARN,
            f"reissue:{self._count}",
            "",
            (self._row, *self._repeated.values()),
            f"The task was given again at row {self._row} and {len(self._repeated)} of the next "
            f"{self._actions} actions had been done before",
        )

    def _reissues(self, said: Utterance) -> bool:
        if said.task_overlap < self._overlap or said.kind == "system":
            return False
        # A worker that quotes the task in its answer does not give it again.
        return not said.by_model or said.replan or LEADS.within(said.agent.casefold())

    def _anew(self, said: Utterance) -> bool:
        return said.task_overlap >= self._overlap or bool(
            said.digest == self._opener and said.digest and said.words >= VERBATIM_WORDS
        )

    def _began_anew(self, said: Utterance) -> Hit:
        self._left, self._repeated = 0, {}  # what follows could make it no surer
        self._count += 1
        return Hit(
            Severity.ALERT,
            f"reissue:{self._count}",
            said.agent,
            (said.row,),
            f"A history was dropped and {said.agent} gave the task again at row {said.row}",
        )

    def _reissued(self, said: Utterance) -> Hit | None:
        self._left, self._row, self._repeated = self._actions, said.row, {}
        self._count += 1
        # A manager that empties all memories and opens anew says so: by design, however often.
        self.replanned = said.by_model or said.kind == "opener"
        if said.by_model:
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


def _steps(signals: Signals) -> list[tuple[int, bool, int]]:
    """Return the actions of an event: what each is, whether it was done before, and its row."""
    if signals.calls:
        return [(call.key, call.times > 0, call.row) for call in signals.calls]
    said = signals.utterance
    if said is None or not said.by_model or said.words < ACTION_WORDS:
        return []
    return [(said.cluster, said.seen, said.row)]
