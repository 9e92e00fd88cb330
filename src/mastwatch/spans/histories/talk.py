"""A run that is known by its requests, and the lines of requests in it."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from mastwatch import forks
from mastwatch.events import Outcome
from mastwatch.spans.histories.messages import HistoryMessage
from mastwatch.spans.run import Run

MAX_ASKED = 512
"""Tool calls of a run whose results are still to come."""
MAX_AGENTS = 32
MAX_HEARD = 512
"""Texts of users that are remembered."""
MAX_BRANCHES = 64
NO_CALL = "no further call"
NOBODY = "assistant"
"""An agent of which nothing is known; the next of another system prompt is ``assistant-2``."""


@dataclass(frozen=True, slots=True)
class Row:
    """Where an answer stands: its row, the branch (empty for the run itself), and who said it."""

    index: int
    lane: str
    agent: str


class Asked(NamedTuple):
    """A tool call that an answer asked for, and when (Unix time)."""

    row: Row
    name: str
    arguments: object
    at: float


@dataclass(slots=True, eq=False)
class Thread:
    """A line of requests of which each goes on from the one before.

    Attributes:
        talk: The run it belongs to.
        lane: The branch of that run that it is in; empty for the main conversation.
        system: Identity of its latest system prompt.
        agent: Who asked last.
        point: Digest of the history so far.
        answers: How often a model answered in it.
        busy: A request is under way.
        request: Its messages, while it is.
    """

    talk: Talk
    lane: str = ""
    system: int = 0
    agent: str = ""
    point: int = 0
    answers: int = 0
    busy: bool = False
    request: Sequence[HistoryMessage] = ()


@dataclass(slots=True, eq=False)
class Talk:
    """A run whose model calls come bare: one that we opened for them, or the host's own.

    Attributes:
        owned: We opened the run, and end it.
        framework: The run's.
        lanes: The run, and the branches opened in it, by branch.
        touched: Monotonic time of the latest sign of life.
        waiting: Requests under way.
        ending: How it ends if nothing more comes.
        over: No request may join any more.
        names: Agents by the identity of their system prompts.
        asked: Tool calls whose results are still to come, by call id.
        heard: Digests of what users have said.
        latest: In a run of the host's own: the latest answer, its row and thread.
        by_hand: The host itself says what is said and done in its run.
        opening: Held while a run or branch is opened: two requests may come at once.
    """

    owned: bool = True
    framework: str = ""
    lanes: OrderedDict[str, Run] = field(default_factory=OrderedDict)
    touched: float = field(default_factory=time.monotonic)
    waiting: int = 0
    ending: tuple[Outcome, str] = ("unknown", "")
    over: bool = False
    names: dict[int, str] = field(default_factory=dict)
    asked: OrderedDict[str, Asked] = field(default_factory=OrderedDict)
    heard: OrderedDict[int, None] = field(default_factory=OrderedDict)
    latest: tuple[str, int, Thread] | None = None
    by_hand: bool = False
    opening: forks.Lock = field(default_factory=forks.lock)

    @property
    def open(self) -> bool:
        """Whether a request may join it."""
        run = self.lanes.get("")
        return not self.over and (run is None or not run.finished)

    def name_of(self, system: int, given: str) -> str:
        """Name the agent of a system prompt: the same one for as long as the run lasts."""
        known = self.names.get(system)
        if known is None:
            known = given or self._new_name()
            if len(self.names) < MAX_AGENTS:
                self.names[system] = known
        return given or known

    def _new_name(self) -> str:
        if NOBODY not in self.names.values() or len(self.names) >= MAX_AGENTS:
            return NOBODY
        return f"{NOBODY}-{len(self.names) + 1}"

    def lane(self, branch: str) -> Run | None:
        """The run, or a branch of it that still goes on."""
        run = self.lanes.get(branch)
        return run if run is not None and not run.finished else None

    def add(self, run: Run) -> None:
        """Note the run, or a branch; the oldest branch makes room."""
        self.lanes[run.branch] = run
        if len(self.lanes) > MAX_BRANCHES:
            self.lanes.move_to_end("", last=False)
            oldest = list(self.lanes)[1]
            self.lanes.pop(oldest).finish("completed", NO_CALL)

    def hears(self, text: str) -> bool:
        """Whether a user says this for the first time."""
        digest = hash(text)
        first = digest not in self.heard
        self.heard[digest] = None
        self.heard.move_to_end(digest)
        while len(self.heard) > MAX_HEARD:
            self.heard.popitem(last=False)
        return first

    def ask(self, call_id: str, asked: Asked) -> None:
        """Note a tool call that an answer asks for."""
        self.asked[call_id] = asked
        while len(self.asked) > MAX_ASKED:
            self.asked.popitem(last=False)

    def returned(self, message: HistoryMessage, asked: Asked) -> None:
        """Tell of a tool call that has come back."""
        lane = self.lanes.get(asked.row.lane)
        if lane is None:
            return
        call = lane.tool_call(
            asked.name,
            asked.arguments,
            agent=asked.row.agent,
            call_id=message.call_id,
            parent=lane,
            index=asked.row.index,
            started=asked.at,
        )
        call.returned(message.content, error="ToolError" if message.failed else None)

    def finish(self) -> None:
        """End the branches, and the run if it is ours."""
        self.over = True
        outcome, reason = self.ending
        for branch, run in list(self.lanes.items()):
            if branch:
                run.finish(outcome, reason)
        run_itself = self.lanes.get("")
        if self.owned and run_itself is not None:
            run_itself.finish(outcome, reason)
        # Digests of its history may still lead here for a while.
        self.lanes.clear()
        self.asked.clear()
        self.latest = None
