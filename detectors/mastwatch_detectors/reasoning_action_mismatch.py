"""FM-2.6: an agent does something else than it says."""

from __future__ import annotations

import re
from typing import ClassVar, Literal

from mastwatch.detector import Detector
from mastwatch.events import Event, MessageSent, ToolCalled, ToolReturned
from mastwatch.findings import Finding, Notice, Severity
from mastwatch.signals import Result, Signals, Utterance
from mastwatch.signals.phrases import Phrases
from mastwatch.signals.text import TEXT_CAP
from mastwatch_detectors._hints.phrases import ADMITS, ANNOUNCES, HAVE_DONE, RAN_WELL, WAS_DONE
from mastwatch_detectors._hints.tools import Purposes

TOOLS_KEPT = 64
NEAR_BEFORE, NEAR_AFTER = 40, 30
"""Characters around a tool's name in which it is announced."""

_PLAIN = re.compile(r"[a-z]+")
_EDGE = r"[A-Za-z0-9_]"

Deed = Literal["run", "change"]
_SAYS: dict[Deed, tuple[Phrases, ...]] = {"run": (RAN_WELL,), "change": (HAVE_DONE, WAS_DONE)}
_WHAT: dict[Deed, str] = {"run": "ran well", "change": "was changed"}


class ReasoningActionMismatch(Detector):
    """Notices words that an agent's own calls belie.

    - M1: a message announces a call of one tool, known in this run by a name no ordinary word has,
      and calls others only, none of which it names;
    - M2: it says that tests passed or that something ran well, while the latest test or execution
      had failed; or that something has been changed, while its own latest call to do so had
      failed. A message that speaks of a failure too is taken at its word;
    - M3: it says "I have updated (booked, sent, ...) ..." and every call of the run so far could
      only read.

    Args:
        calls: Calls there must have been for M3.

    Example:
        >>> detector, signals = ReasoningActionMismatch(), Signals("run-1")
        >>> failed = ToolReturned(
        ...     run_id="run-1", index=1, agent="coder", name="run_tests", result="", error="Failure"
        ... )
        >>> called = ToolCalled(run_id="run-1", index=0, agent="coder", name="run_tests")
        >>> said = MessageSent(run_id="run-1", index=2, sender="coder", text="All tests passed!")
        >>> for event in (called, failed, said):
        ...     signals.update(event)
        ...     found = detector.observe(event, signals)
        >>> found.severity.label, found.tool, found.evidence
        ('suspect', 'run_tests', (1, 2))

    Misses: a chain of thought that argues for one thing and does another, in other words than
    these. Tools with plain names (``search``) are taken as announced only when quoted as code.

    Source: Cemri et al., arXiv 2503.13657, FM-2.6.
    """

    mode: ClassVar[str] = "FM-2.6"
    name: ClassVar[str] = "reasoning_action_mismatch"
    ceiling: ClassVar[Severity] = Severity.SUSPECT
    observes: ClassVar[tuple[type[Event], ...]] = (MessageSent, ToolCalled, ToolReturned)

    def __init__(self, *, calls: int = 2) -> None:
        self._calls_needed = max(1, calls)
        self._purposes = Purposes()
        self._tools: dict[str, None] = {}
        self._calls = 0
        self._only_read = True
        self._failed: dict[Deed, Result] = {}  # the latest of its kind, while it is a failure

    def observe(self, event: Event, signals: Signals) -> Finding | Notice | None:
        """Look at one event."""
        if signals.result is not None:
            self._returned(signals.result)
        said = signals.utterance
        text = event.text if self._calls and isinstance(event, MessageSent) else None
        found = None
        if text and said is not None and said.by_model and self._may_be_belied(said):
            found = self._belied(said, text[:TEXT_CAP].casefold(), signals)
        for call in signals.calls:
            self._called(call.tool, call.mutating)
        return found

    def _called(self, tool: str, mutating: bool) -> None:
        self._calls += 1
        if len(self._tools) < TOOLS_KEPT:
            self._tools[tool] = None
        if mutating or self._purposes.of(tool) != "read":
            self._only_read = False

    def _returned(self, result: Result) -> None:
        if result.call is None:
            return
        purpose = self._purposes.of(result.call.tool)
        deed: Deed
        if purpose in ("check", "run"):
            deed = "run"
        elif result.call.mutating or purpose == "edit":
            deed = "change"
        else:
            return
        self._failed.pop(deed, None)
        if result.error == "error":
            self._failed[deed] = result

    def _may_be_belied(self, said: Utterance) -> bool:
        """Whether there is anything that words could be belied by; spares reading most of them."""
        if said.calls:
            return len(self._tools) > 1 or bool(self._failed)
        return bool(self._failed) or self._only_read

    def _belied(self, said: Utterance, text: str, signals: Signals) -> Finding | None:
        if said.calls and len(self._tools) > 1:
            found = self._other_tool(said, text, signals)
            if found is not None:
                return found
        found = self._failed_deed(said, text, signals) if self._failed else None
        if found is not None:
            return found
        only_read = self._only_read and self._calls >= self._calls_needed and not said.calls
        if only_read and HAVE_DONE.within(text):
            what = f"said it had changed something; all {self._calls} calls so far only read"
            return self._say("never", said, said.row, "", what, signals)
        return None

    def _failed_deed(self, said: Utterance, text: str, signals: Signals) -> Finding | None:
        for deed, failed in self._failed.items():
            call = failed.call
            if call is None or (deed == "change" and call.agent != said.agent):
                continue
            says = any(phrases.within(text) for phrases in _SAYS[deed])
            if says and not ADMITS.within(text):
                what = f"said that something {_WHAT[deed]} after {call.tool} had failed"
                return self._say(deed, said, failed.row, call.tool, what, signals)
        return None

    def _other_tool(self, said: Utterance, text: str, signals: Signals) -> Finding | None:
        called = {call.tool for call in said.calls}
        if any(tool.casefold() in text for tool in called):
            return None
        for tool in self._tools:
            if tool not in called and _announced(tool, text):
                what = f"announced a call of {tool} and called {', '.join(sorted(called))}"
                return self._say(f"tool:{tool}", said, said.row, tool, what, signals)
        return None

    def _say(
        self, key: str, said: Utterance, row: int, tool: str, what: str, signals: Signals
    ) -> Finding:
        return self.finding(
            Severity.SUSPECT,
            signals,
            key=key,
            agent=said.agent,
            tool=tool,
            evidence=(row, said.row),
            explanation=f"{said.agent} {what}",
        )


def _announced(tool: str, text: str) -> bool:
    """Whether a casefolded text announces a call of a tool.

    >>> _announced("get_order", "now i will call get_order to see"), _announced("search", "search")
    (True, False)
    """
    name = tool.casefold()
    if name not in text:
        return False
    shown = f"`{name}`" if _PLAIN.fullmatch(tool) else name
    pattern = rf"(?<!{_EDGE}){re.escape(shown)}(?!{_EDGE})"
    for match in re.finditer(pattern, text):
        near = text[max(0, match.start() - NEAR_BEFORE) : match.end() + NEAR_AFTER]
        if ANNOUNCES.within(near):
            return True
    return False
