"""FM-3.2: work is called finished that nobody has checked."""

from __future__ import annotations

import re
from typing import ClassVar, NamedTuple

from mastwatch.detector import Detector
from mastwatch.events import (
    Event,
    MessageSent,
    RunFinished,
    ToolCalled,
    ToolReturned,
)
from mastwatch.findings import Finding, Notice, Severity
from mastwatch.signals import Call, Result, Signals
from mastwatch_detectors._hints.roles import NAMES_KEPT, Role, role
from mastwatch_detectors._hints.tools import Purposes

_CODE = re.compile(
    r"```(?:python|py|javascript|js|typescript|ts|jsx|tsx|java|kotlin|swift|go|rust|ruby|php|c|cpp|"
    r"c\+\+|csharp|cs|scala|sql)\s*\n",
    re.IGNORECASE,
)
_ENDS = ("completed", "unknown")


class _Change(NamedTuple):
    row: int
    agent: str
    tool: str
    key: int


class NoOrIncompleteVerification(Detector):
    r"""Notices work that changes after its last check, or is never checked, before the run ends.

    Only where checks are to be expected; one of these is enough when a run is called finished (by
    token, finishing tool or its own end):

    - V1: tests or checks ran in this run, and a tool changed something after the last of them;
    - V2: tools changed files, and nothing was tested or executed at all;
    - V3: an agent is there to check (its name says so, it has spoken), and after its last word one
      whose code it could see wrote code again.

    Any execution of code or of a command after the change counts as a check, whatever came out of
    it, and so does a word of an agent that is there to check or to execute. A change that failed is
    none.

    Args:
        changes: Changes of files that take for V2.

    Example:
        >>> from mastwatch.events import ToolRequest
        >>> detector, signals = NoOrIncompleteVerification(), Signals("run-1")
        >>> steps = [("", "run_tests"), ("", "edit_file"), ("All of it works. TERMINATE", "")]
        >>> for row, (text, tool) in enumerate(steps):
        ...     calls = (ToolRequest(name=tool, arguments={"path": "a.py"}),) if tool else ()
        ...     event = MessageSent(
        ...         run_id="run-1", index=row, sender="coder", text=text, tool_calls=calls
        ...     )
        ...     signals.update(event)
        ...     found = detector.observe(event, signals)
        >>> found.severity.label, found.tool, found.evidence
        ('suspect', 'edit_file', (0, 1, 2))

    Misses: checks that check the wrong thing (FM-3.3), work that is no code, and answers nobody
    looks over in teams without a checker. A shell command counts as a check even if it was none.

    Source: Cemri et al., arXiv 2503.13657, FM-3.2.
    """

    mode: ClassVar[str] = "FM-3.2"
    name: ClassVar[str] = "no_or_incomplete_verification"
    ceiling: ClassVar[Severity] = Severity.SUSPECT
    observes: ClassVar[tuple[type[Event], ...]] = (
        MessageSent,
        ToolCalled,
        ToolReturned,
        RunFinished,
    )

    def __init__(self, *, changes: int = 1) -> None:
        self._least = max(1, changes)
        self._purposes = Purposes()
        self._roles: dict[str, Role] = {}
        self._spoken = -1  # row of the latest message of an agent that checks
        self._authors: set[str] = set()  # who had written code before
        self._coded: tuple[int, str] | None = None  # row and author of code after that
        self._checked = -1  # row of the latest test or check
        self._executed = -1  # row of the latest execution of anything
        self._change: _Change | None = None
        self._before: _Change | None = None  # the change before, in case this one fails
        self._edits = 0

    def observe(self, event: Event, signals: Signals) -> Finding | Notice | None:
        """Look at one event."""
        said, result = signals.utterance, signals.result
        if signals.calls:
            for call in signals.calls:
                self._called(call)
        elif result is not None and result.error:
            self._undo(result)
        if said is not None:
            if said.by_model and isinstance(event, MessageSent):
                self._heard(said.agent, said.row, event.text)
                if said.claim:
                    return self._unchecked(signals)
        elif isinstance(event, RunFinished) and event.outcome in _ENDS:
            return self._unchecked(signals)
        return None

    def _called(self, call: Call) -> None:
        purpose = self._purposes.of(call.tool)
        if purpose in ("check", "run"):
            self._executed = call.row
            if purpose == "check":
                self._checked = call.row
        elif call.mutating or purpose == "edit":
            self._edits += purpose == "edit"
            self._before = self._change
            self._change = _Change(call.row, call.agent, call.tool, call.key)

    def _undo(self, result: Result) -> None:
        call, change = result.call, self._change
        if call is not None and change is not None and call.key == change.key:
            self._edits -= self._purposes.of(call.tool) == "edit"
            self._change = self._before

    def _heard(self, agent: str, row: int, text: str | None) -> None:
        part = self._roles.get(agent) or self._role(agent)
        if part != "other":
            self._executed = row
            if part == "checker":
                self._spoken = row
        elif text and "`" in text and _CODE.search(text):
            if self._spoken >= 0 and agent in self._authors:
                self._coded = row, agent
            elif len(self._authors) < NAMES_KEPT:
                self._authors.add(agent)

    def _role(self, agent: str) -> Role:
        part = role(agent)
        if len(self._roles) < NAMES_KEPT:
            self._roles[agent] = part
        return part

    def _unchecked(self, signals: Signals) -> Finding | None:
        change = self._change
        if change is not None and change.row > self._executed:
            if self._checked >= 0:
                what = f"{change.tool} changed something after the last check (row {self._checked})"
                return self._say("after check", change, (self._checked,), what, signals)
            if self._edits >= self._least and self._executed < 0:
                what = f"{change.tool} changed files and nothing was tested or run"
                return self._say("no check", change, (), what, signals)
        if self._coded is not None and self._coded[0] > self._executed:
            row, author = self._coded
            change = _Change(row, author, "", 0)
            what = f"{author} wrote code after the last word of the agent that checks"
            return self._say("checker", change, (self._spoken,), what, signals)
        return None

    def _say(
        self, key: str, change: _Change, rows: tuple[int, ...], what: str, signals: Signals
    ) -> Finding:
        end = signals.index if signals.utterance is not None else change.row
        return self.finding(
            Severity.SUSPECT,
            signals,
            key=key,
            agent=change.agent,
            tool=change.tool,
            evidence=(*rows, change.row, end),
            explanation=f"The run ended unchecked: {what}",
        )
