"""What is ordered for one run, and what its host gets when it is ended."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from mastwatch.events import MessageSent, ToolReturned
from mastwatch.findings import Finding
from mastwatch.interventions.rules import Action, Intervention

MAX_ROWS = 1_000
"""Latest rows of a run that are kept for ``RunHalted.transcript``."""
MAX_CHARS = 1_000_000
"""Text that these rows may hold on to."""
MAX_NUDGES = 8
"""Nudges that may wait for a run's next model call."""

Row: TypeAlias = MessageSent | ToolReturned


class RunHalted(Exception):
    """mastwatch ended a run because the host asked for it; raised where no framework ends it.

    Attributes:
        reason: ``halted by mastwatch: FM-1.3``, or the host's own words.
        run_id: The run.
        finding: What it was ended for; None if the host's code asked.
        transcript: The run's latest rows, oldest first: utterances and tool results.
    """

    def __init__(
        self,
        reason: str,
        run_id: str = "",
        finding: Finding | None = None,
        transcript: Sequence[Row] = (),
    ) -> None:
        Exception.__init__(self, reason)
        self.reason = reason
        self.run_id = run_id
        self.finding = finding
        self.transcript = tuple(transcript)


@dataclass(slots=True)
class RunOrders:
    """What is known of a run, and what is ordered for it.

    Attributes:
        task: What it was asked to do.
        rows: Its latest rows.
        chars: Text that they hold on to.
        reason: Of the halt that was ordered.
        finding: What it was ordered for.
        ended: Whether a hook has carried it out.
        nudges: What waits for the next model call.
        waiting: What they were for: fingerprints by id of the rule.
        given: Actions taken so far, by id of the rule.
        once: Actions and results that come once per run only.
    """

    task: str = ""
    rows: deque[Row] = field(default_factory=deque)
    chars: int = 0
    reason: str = ""
    finding: Finding | None = None
    ended: bool = False
    nudges: deque[str] = field(default_factory=lambda: deque(maxlen=MAX_NUDGES))
    waiting: dict[int, str] = field(default_factory=dict)
    given: Counter[int] = field(default_factory=Counter)
    once: set[tuple[str, str]] = field(default_factory=set)

    def keep(self, row: Row) -> None:
        """Keep a row; the oldest make room."""
        self.rows.append(row)
        self.chars += _size(row)
        while len(self.rows) > MAX_ROWS or (self.chars > MAX_CHARS and len(self.rows) > 1):
            self.chars -= _size(self.rows.popleft())

    def unheard(self, rule: Intervention, finding: Finding) -> bool:
        """Whether a rule's nudge still waits for a model, and this is another loop than its own.

        Two tools called side by side are two loops in one step: the second is no sign that the
        nudge did not help. The same loop once more is one, for no model may ever be asked.
        """
        return self.waiting.get(id(rule), finding.fingerprint) != finding.fingerprint

    def due(self, rule: Intervention) -> Action | None:
        """What a rule does next; None when it is used up."""
        if rule.action == "nudge" and self.given[id(rule)] >= rule.at_most:
            return rule.then or None
        return rule.action


def _size(row: Row) -> int:
    return len((row.text if isinstance(row, MessageSent) else row.result) or "")
