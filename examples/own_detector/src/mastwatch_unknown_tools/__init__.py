"""FM-1.2: an agent steps out of its role and asks for tools that it does not have."""

from __future__ import annotations

import re
from collections import deque
from typing import ClassVar

from mastwatch.detector import Detector
from mastwatch.events import Event, ToolReturned
from mastwatch.findings import Finding, Notice, Severity
from mastwatch.signals import Signals

CALLS_KEPT = 64
# How LangGraph, AG2 and others answer such a call.
_REFUSAL = re.compile(
    r"(error: )?(function|tool) \S+ (is )?not (found|available)|.* not a valid tool"
)


class UnknownTools(Detector):
    """Notices an agent that asks again and again for tools it does not have.

    Once is a slip, which the framework's answer mends. An agent that goes on takes itself for
    somebody else.

    Args:
        times: Such calls of one agent, among the last 64 of all agents, for ``SUSPECT``.

    Example:
        >>> from mastwatch.testing import Script, findings
        >>> run = Script()
        >>> for _ in range(2):
        ...     run = run.call("fly", {}, "Error: fly is not a valid tool", agent="pilot")
        >>> [(f.severity.label, f.agent, f.evidence) for f in findings(run, UnknownTools)]
        [('suspect', 'pilot', (0, 1))]

    Misses: frameworks that hide such calls from the agents, refusals in other words.

    Source: Cemri et al., arXiv 2503.13657, FM-1.2.
    """

    mode: ClassVar[str] = "FM-1.2"
    name: ClassVar[str] = "unknown_tools"
    ceiling: ClassVar[Severity] = Severity.SUSPECT
    observes: ClassVar[tuple[type[Event], ...]] = (ToolReturned,)

    def __init__(self, *, times: int = 2) -> None:
        self._times = max(2, times)
        self._seen: deque[tuple[str, int]] = deque(maxlen=CALLS_KEPT)

    def observe(self, event: Event, signals: Signals) -> Finding | Notice | None:
        """Look at one event."""
        if not isinstance(event, ToolReturned) or not _refused(event):
            return None
        self._seen.append((event.agent, event.index))
        rows = tuple(row for agent, row in self._seen if agent == event.agent)
        if len(rows) < self._times:
            return None
        return self.finding(
            Severity.SUSPECT,
            signals,
            key="unknown tools",
            agent=event.agent,
            evidence=rows,
            explanation=f"{event.agent} asked {len(rows)} times for tools it does not have",
        )


def _refused(event: ToolReturned) -> bool:
    if event.error in ("ToolNotFound", "ToolNotFoundError"):
        return True
    return bool(_REFUSAL.match((event.result or "")[:200].casefold()))
