"""What the live view knows: runs, agents, the transcript's tail and the findings so far.

Pure bookkeeping, no terminal. Everything is bounded; what fell out at a bound is counted.
"""

from __future__ import annotations

import json
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from mastwatch.events import (
    Event,
    MessageSent,
    ModelCalled,
    RunFinished,
    RunStarted,
    ToolReturned,
)
from mastwatch.findings import Finding, Notice, Severity

MAX_RUNS = 64
MAX_AGENTS = 48
MAX_LINES = 200
MAX_EPISODES = 128
MAX_EXCERPT = 300

Item: TypeAlias = Event | Finding | Notice


def clean(text: str, limit: int = MAX_EXCERPT) -> str:
    r"""One line of printable characters: what an agent wrote must not steer the terminal.

    >>> clean("two\nlines \x1b[31mred")
    'two lines [31mred'
    """
    printable = "".join(c if c.isprintable() else " " for c in text[: limit + 1])
    line = " ".join(printable.split())
    return line if len(text) <= limit else line[: limit - 1] + "…"


@dataclass(slots=True)
class AgentRow:
    """One agent of a run."""

    name: str
    messages: int = 0
    tools: int = 0
    seen: float = 0.0


@dataclass(slots=True)
class Line:
    """One row of the transcript, ready to be shown."""

    run_id: str
    index: int
    sender: str
    target: str
    text: str
    kind: str = "message"


@dataclass(slots=True)
class Episode:
    """A finding at its present level, and where it was first seen."""

    finding: Finding
    first_index: int


@dataclass(slots=True)
class RunRow:
    """One run."""

    run_id: str
    name: str = ""
    framework: str = ""
    started: float = 0.0
    ended: float | None = None
    rows: int = 0
    messages: int = 0
    tools: int = 0
    tokens: int = 0
    outcome: str = ""
    past: bool = False
    reason: str = ""
    agents: OrderedDict[str, AgentRow] = field(default_factory=OrderedDict)
    episodes: OrderedDict[str, Episode] = field(default_factory=OrderedDict)
    notices: dict[str, int] = field(default_factory=dict)

    @property
    def short(self) -> str:
        """Enough of the id to tell runs apart."""
        return clean(self.run_id)[:8]

    @property
    def active(self) -> bool:
        """Whether it is still going."""
        return self.ended is None

    @property
    def worst(self) -> Severity | None:
        """The highest severity so far."""
        return max((e.finding.severity for e in self.episodes.values()), default=None)

    @property
    def marks(self) -> dict[int, Severity]:
        """Rows of the transcript that a finding points at, and how serious the worst one is."""
        marks: dict[int, Severity] = {}
        for episode in self.episodes.values():
            finding = episode.finding
            for index in (*finding.evidence, finding.message_index):
                marks[index] = max(finding.severity, marks.get(index, Severity.INFO))
        return marks


class Board:
    """All of it, brought up to date item by item.

    Args:
        clock: Seconds; the durations shown are differences of it.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.runs: OrderedDict[str, RunRow] = OrderedDict()
        self.lines: deque[Line] = deque(maxlen=MAX_LINES)
        self.title = ""
        self.subtitle = ""
        self.forgotten = 0
        self.skipped = 0
        self.remarks: list[str] = []

    def shown(self) -> list[RunRow]:
        """The runs worth showing now: all active ones, else the last one under this title."""
        active = [run for run in self.runs.values() if run.active]
        return active or [run for run in self.runs.values() if not run.past][-1:]

    def head(self, title: str, subtitle: str) -> None:
        """Begin a chapter: the runs that are over belong to the one before."""
        self.title, self.subtitle = clean(title), clean(subtitle)
        for run in self.runs.values():
            run.past = not run.active

    def run(self, run_id: str) -> RunRow:
        """The run of this id, made where it is new; the oldest makes room."""
        row = self.runs.get(run_id)
        if row is None:
            row = self.runs[run_id] = RunRow(run_id, started=self.clock())
            if len(self.runs) > MAX_RUNS:
                done = next((r.run_id for r in self.runs.values() if not r.active), None)
                del self.runs[done if done is not None else next(iter(self.runs))]
                self.forgotten += 1
        return row

    def apply(self, item: Item, framework: str = "") -> None:
        """Take in what happened."""
        run = self.run(item.run_id)
        run.framework = run.framework or clean(framework or getattr(item, "framework", ""))
        if isinstance(item, Finding):
            self._finding(run, item)
        elif isinstance(item, Notice):
            if item.name in run.notices or len(run.notices) < MAX_EPISODES:
                run.notices[item.name] = run.notices.get(item.name, 0) + 1
        elif isinstance(item, RunStarted):
            self._started(run, item)
        elif isinstance(item, RunFinished):
            self._finished(run, item)
        else:
            self._happened(run, item)

    def _finding(self, run: RunRow, finding: Finding) -> None:
        key = finding.episode or f"{finding.fingerprint}@{finding.message_index}"
        known = run.episodes.get(key)
        if known is not None:
            known.finding = finding
        elif len(run.episodes) < MAX_EPISODES:
            run.episodes[key] = Episode(finding, finding.message_index)
        else:
            self.skipped += 1

    def _started(self, run: RunRow, event: RunStarted) -> None:
        if event.branch:
            return
        run.name = clean(event.name, 60)
        run.ended, run.outcome, run.past = None, "", False
        self.runs.move_to_end(run.run_id)

    def _finished(self, run: RunRow, event: RunFinished) -> None:
        if event.branch:
            return
        run.ended = self.clock()
        run.outcome, run.reason = event.outcome, clean(event.reason or event.error or "", 100)
        run.rows = max(run.rows, event.index + 1)

    def _happened(self, run: RunRow, event: Event) -> None:
        if isinstance(event, MessageSent):
            run.rows = max(run.rows, event.index + 1)
            run.messages += 1
            self._agent(run, event.sender, messages=1)
            self._add(run, event.index, event.sender, event.recipients, *_said(event))
        elif isinstance(event, ToolReturned):
            run.rows = max(run.rows, event.index + 1)
            run.tools += 1
            self._agent(run, event.agent, tools=1)
            text = f"failed: {event.error}" if event.error else event.result
            self._add(run, event.index, event.name or "tool", (event.agent,), text, "tool")
        elif isinstance(event, ModelCalled):
            run.tokens += (event.input_tokens or 0) + (event.output_tokens or 0)

    def _agent(self, run: RunRow, name: str, messages: int = 0, tools: int = 0) -> None:
        agent = run.agents.get(name)
        if agent is None:
            if len(run.agents) >= MAX_AGENTS:
                return
            agent = run.agents[name] = AgentRow(clean(name, 40))
        agent.messages += messages
        agent.tools += tools
        agent.seen = self.clock()

    def _add(
        self,
        run: RunRow,
        index: int,
        sender: str,
        targets: tuple[str, ...],
        text: str | None,
        kind: str,
    ) -> None:
        target = ", ".join(targets[:2]) + (f" +{len(targets) - 2}" if len(targets) > 2 else "")
        shown = "(text withheld)" if text is None else clean(text)
        self.lines.append(
            Line(run.run_id, index, clean(sender, 40), clean(target, 60), shown, kind)
        )


def _said(event: MessageSent) -> tuple[str | None, str]:
    if event.text or not event.tool_calls:
        return event.text, "message"
    calls = ", ".join(f"{call.name}({_arguments(call.arguments)})" for call in event.tool_calls)
    return calls, "call"


def _arguments(arguments: object) -> str:
    if isinstance(arguments, dict):
        return ", ".join(f"{key}={_value(value)}" for key, value in arguments.items())
    return "" if arguments is None else str(arguments)


def _value(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        return repr(value)
