"""FM-3.1: agents stop before they are done."""

from __future__ import annotations

import re
from typing import ClassVar, NamedTuple

from mastwatch.detector import Detector
from mastwatch.events import Event, MessageSent, RunFinished, ToolReturned
from mastwatch.findings import Finding, Notice, Severity
from mastwatch.signals import Result, Signals, Utterance
from mastwatch_detectors._hints.phrases import ADMITS, PLACEHOLDER, TO_COME
from mastwatch_detectors._hints.plans import Plan, checklist, todo_list

TAIL_CHARS = 600
"""Where a last message says what is still to come."""

_PLACEHOLDER = re.compile(
    rf"(?:\.{{3,}}|…+|_{{3,}}|todo|tbd|xxx+|\?{{3,}}|[<\[(（【](?:\.{{3}}|…|{PLACEHOLDER})[>\])）】]|"
    rf"\[(?:insert|your|fill)[^\]]{{0,40}}\])\W*",
    re.IGNORECASE,
)
_VALUE = re.compile(
    r"oxed\{([^{}]{0,60})\}|(?:FINAL[ _]ANSWER|<final_answer>)[\s:：*]*(<[^\n]{0,60}|[^\n<]{0,60})"
)


class _Stop(NamedTuple):
    key: str
    agent: str
    rows: tuple[int, ...]
    what: str


class PrematureTermination(Detector):
    r"""Notices a run that is called finished while something says that it is not.

    A run is called finished by the completion token or a finishing tool; or it ends, and neither a
    limit nor an error of the framework ended it. Then one of these is enough:

    - the tool result right before it is an error, and the agent does not speak of any failure;
    - a plan has open items: a checklist of which some items were ticked and others are not, or
      the latest state of a to-do tool;
    - the message itself says what is still to come ("next, I will ...");
    - the final answer is a placeholder (``...``, ``TODO``, ``<answer>``), or the last message of
      the run is empty.

    How long the run was is no evidence. Weather (429, 5xx, timeouts) is none either.

    Args:
        open_items: Open items of a plan that take.

    Example:
        >>> detector, signals = PrematureTermination(), Signals("run-1")
        >>> said = "- [x] read the log\n- [ ] fix the pump\n\nAll done. TERMINATE"
        >>> event = MessageSent(run_id="run-1", index=4, sender="fitter", text=said)
        >>> signals.update(event)
        >>> found = detector.observe(event, signals)
        >>> found.severity.label, found.agent, found.evidence
        ('suspect', 'fitter', (4,))

    Misses: goals nobody wrote down, and answers that are merely incomplete: the judge's work. A
    plan whose last item is ticked nowhere is flagged although it may be done.

    Source: Cemri et al., arXiv 2503.13657, FM-3.1.
    """

    mode: ClassVar[str] = "FM-3.1"
    name: ClassVar[str] = "premature_termination"
    ceiling: ClassVar[Severity] = Severity.SUSPECT
    observes: ClassVar[tuple[type[Event], ...]] = (MessageSent, ToolReturned, RunFinished)

    def __init__(self, *, open_items: int = 1) -> None:
        self._open_items = max(1, open_items)
        self._failed: Result | None = None
        self._since = 0  # messages of agents since that failure
        self._plan: tuple[Plan, int] | None = None
        self._ticked = False
        self._last = ("", -1, False)  # agent, row, whether empty: of the latest message
        self._gives_up = False  # the latest message after a failure did

    def observe(self, event: Event, signals: Signals) -> Finding | Notice | None:
        """Look at one event."""
        result, said = signals.result, signals.utterance
        if result is not None:
            self._failed = result if result.error == "error" else None
            self._since, self._gives_up = 0, False
        if said is not None:
            if said.by_model and isinstance(event, MessageSent):
                return self._said(said, event, signals)
        elif isinstance(event, RunFinished) and event.outcome in ("completed", "unknown"):
            return self._finding(self._ended(), signals)
        return None

    def _said(self, said: Utterance, event: MessageSent, signals: Signals) -> Finding | None:
        text = event.text
        if said.calls or (text and "[" in text):  # what one character tells, is told at once
            self._read(event, said.row)
        if self._failed is not None:
            self._gives_up = said.unsolvable or ADMITS.within((text or "").casefold())
        self._last = said.agent, said.row, text == "" and not said.calls
        stop = self._claimed(said, text or "") if said.claim or said.answer else None
        self._since += 1
        return None if stop is None else self._finding(stop, signals)

    def _read(self, event: MessageSent, row: int) -> None:
        plan = checklist(event.text or "") or todo_list(event.tool_calls)
        if plan is not None:
            self._plan = plan, row
            self._ticked = self._ticked or plan.done > 0

    def _claimed(self, said: Utterance, text: str) -> _Stop | None:
        here = (said.row,)
        if _unfilled(text, said.claim):
            return _Stop("placeholder", said.agent, here, "with a placeholder for an answer")
        if not said.claim:
            return None
        if TO_COME.within(text[-TAIL_CHARS:].casefold()):
            return _Stop("to come", said.agent, here, "in words that name work to come")
        return self._unfinished(said.agent, said.row, first=self._since == 0)

    def _ended(self) -> _Stop | None:
        agent, row, empty = self._last
        if empty:
            return _Stop("empty", agent, (row,), "with an empty message")
        return self._unfinished(agent, row, first=self._since <= 1) if row >= 0 else None

    def _unfinished(self, agent: str, row: int, *, first: bool) -> _Stop | None:
        failed = self._failed
        if failed is not None and first and not self._gives_up:
            tool = failed.call.tool if failed.call else "the tool"
            return _Stop(
                "error", agent, (failed.row, row), f"right after {tool or 'a tool'} had failed"
            )
        if self._plan is None or not self._ticked or self._plan[0].open < self._open_items:
            return None
        plan, stated = self._plan
        return _Stop(
            "plan", agent, (stated, row), f"with {plan.open} items of its plan open (row {stated})"
        )

    def _finding(self, stop: _Stop | None, signals: Signals) -> Finding | None:
        if stop is None:
            return None
        return self.finding(
            Severity.SUSPECT,
            signals,
            key=stop.key,
            agent=stop.agent,
            evidence=stop.rows,
            explanation=f"The run ended, {stop.agent or 'an agent'} speaking last, {stop.what}",
        )


def _unfilled(text: str, token: str) -> bool:
    """Whether the answer of a last message is a placeholder."""
    values = [a or b for a, b in _VALUE.findall(text)]
    rest = values[-1] if values else text.replace(token, "") if token else text
    return _PLACEHOLDER.fullmatch(rest.strip().strip("*`\"' ")) is not None
