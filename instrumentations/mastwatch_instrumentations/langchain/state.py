"""What we remember of runs under way: one Session per root, one Step per LangChain run id."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple
from uuid import UUID

from mastwatch import forks
from mastwatch.spans.emit import Exchange, Run, Scope
from mastwatch_instrumentations.langchain.names import SOMEBODY

MAX_SESSIONS = 2_048
"""Runs under way at once; the longest idle one is closed to make room."""
MAX_STEPS = 50_000
IDLE_SECONDS = 3_600.0
"""An iterator that is kept but not read leaves its run open; after this it counts as unknown."""
MAX_REMEMBERED = 2_048
MAX_PAUSED = 1_024

Kind = Literal["chain", "tool", "model"]


class Asked(NamedTuple):
    """Who asked for a tool call, in which row, and for which tool."""

    agent: str
    row: int
    tool: str


@dataclass(slots=True, eq=False)
class Step:
    """One LangChain run (a chain, tool or model call) under way.

    Attributes:
        holder: The step whose end is the end of the agent's turn we are in.
        scope: Our open span of it, a turn's once the turn is opened.
        branch: Opened here, for all below.
        quiet: What models say below is nobody's utterance (inside a tool, in a middleware).
        node: It is a node of a graph.
        asks_model: It is the model node of ``create_agent``.
        heard: Who spoke last in here; empty while nobody has.
        handed: A hand-off was reported from in here.
        interrupted: A node of this graph was interrupted.
        spoken: Utterances so far, directly in this node.
        used: Its tool calls so far by key, and whether they returned.
        key: A tool call's key.
        parallel: Its graph runs this node several times at once.
        known: Keys of the messages the node was given.
        fan: Nodes of this graph that run several times in that step of the graph.
        expected: Nodes of this graph that somebody sent control to: by whom, and in which step.
        first_speaker: Latest step of this graph in which a node spoke, and which did so first.
        sent_by: Who sent control to this node, until somebody speaks in it.
        replay: What this node had done before it was interrupted.
        control: LangGraph's ``RunControl`` of this graph, where the host lets us act.
        exchange: A model call outside any chain.
    """

    run_id: UUID
    session: Session
    parent: Step | None
    kind: Kind
    name: str = ""
    agent: str = ""
    metadata_agent: str = ""
    namespace: str = ""
    graph_step: int = -1
    holder: Step | None = None
    scope: Scope | None = None
    branch: Run | None = None
    quiet: bool = False
    node: bool = False
    asks_model: bool = False
    parallel: bool = False
    heard: str = ""
    handed: bool = False
    interrupted: bool = False
    task: str | None = None
    known: frozenset[object] = frozenset()
    fan: dict[str, int] = field(default_factory=dict)
    expected: dict[str, tuple[str, int]] = field(default_factory=dict)
    first_speaker: tuple[int, str] = (-1, "")
    sent_by: str = ""
    spoken: int = 0
    used: dict[str, bool] = field(default_factory=dict)
    key: str = ""
    replay: Replay | None = None
    control: Any = None
    exchange: Exchange | None = None

    def above(self) -> Iterator[Step]:
        """Yield this step and those around it, innermost first."""
        step: Step | None = self
        while step is not None:
            yield step
            step = step.parent

    def nearest_node(self) -> Step | None:
        """Return the graph node this happens in."""
        return next((step for step in self.above() if step.node), None)

    def nearest_tool(self) -> Step | None:
        """Return the tool call this happens in."""
        return next((step for step in self.above() if step.kind == "tool"), None)


@dataclass(slots=True)
class Replay:
    """What an interrupted node had done; it will do it again from its top when resumed.

    Attributes:
        spoken: Utterances.
        tools: Tool calls by key, and whether they had returned.
    """

    spoken: int
    tools: dict[str, bool]


class Memory:
    """What a conversation remembers beyond a pause.

    Attributes:
        calls: Tool calls that were asked for, by id.
        answered: Ids of tool calls that ran.
        reported: Ids of messages that were reported.
        handed_by: Who gave the word to whom: target to source.
    """

    def __init__(self) -> None:
        self.calls: OrderedDict[str, Asked] = OrderedDict()
        self.answered: OrderedDict[str, None] = OrderedDict()
        self.reported: OrderedDict[str, None] = OrderedDict()
        self.handed_by: dict[str, str] = {}


class Paused(NamedTuple):
    """What a resume needs of the session that was interrupted.

    Attributes:
        replays: Interrupted nodes by checkpoint namespace.
        agent: Who waits for the person.
        memory: The conversation's.
    """

    replays: dict[str, Replay]
    agent: str
    memory: Memory


@dataclass(slots=True, eq=False)
class Session:
    """A root of LangChain's and all below it.

    Attributes:
        run: Our run, opened when something worth a run happens.
        base: The host's scope that a bare call joins; its run is not ours to finish.
        speaker: Who speaks where no agent is known.
        graph: The root is a graph, not a plain chain or a bare call.
        turns: Steps whose turn is open.
        memory: Survives a pause.
        work: Counts what was said and done, hand-offs apart.
        handoffs: By hand-off tool, ``work`` when it was last called.
        replays: By checkpoint namespace, from before the pause.
        paused_at: Nodes that were interrupted in this session, as replays of the next one.
        paused: A graph ended because of an interrupt.
    """

    root_id: UUID
    name: str
    framework: str
    conversation_id: str | None
    user_id: str | None = None
    task: str | None = None
    resume: bool = False
    reply: str | None = None
    run: Run | None = None
    base: Scope | None = None
    speaker: str = SOMEBODY
    graph: bool = False
    ended: bool = False
    touched: float = field(default_factory=time.monotonic)
    lock: Any = field(default_factory=threading.RLock)  # protects lazy opening and the maps below
    steps: dict[UUID, Step] = field(default_factory=dict)
    turns: list[Step] = field(default_factory=list)
    memory: Memory = field(default_factory=Memory)
    work: int = 0
    handoffs: OrderedDict[str, int] = field(default_factory=OrderedDict)
    replays: dict[str, Replay] = field(default_factory=dict)
    paused_at: dict[str, Replay] = field(default_factory=dict)
    paused_agent: str = ""
    paused: bool = False

    def remember(self, where: OrderedDict[str, Any], key: str | None, value: Any = None) -> None:
        """Note something by key; the oldest note makes room."""
        if not key:
            return
        with self.lock:
            where[key] = value
            while len(where) > MAX_REMEMBERED:
                where.popitem(last=False)


class Store:
    """All sessions under way, bounded, and the notes on paused conversations."""

    def __init__(self) -> None:
        self._lock = forks.lock()  # protects all three maps
        self._steps: dict[UUID, Step] = {}
        self._sessions: OrderedDict[UUID, Session] = OrderedDict()
        self._paused: OrderedDict[str, Paused] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def get(self, run_id: UUID | None) -> Step | None:
        """Return the step of a LangChain run, if it is under way."""
        step = self._steps.get(run_id) if run_id is not None else None
        if step is not None:
            step.session.touched = time.monotonic()
        return step

    def add(self, step: Step) -> list[Session]:
        """Note a step; return the sessions that must be closed for it."""
        session = step.session
        with self._lock:
            self._steps[step.run_id] = step
            session.steps[step.run_id] = step
            session.touched = time.monotonic()
            self._sessions[session.root_id] = session
            self._sessions.move_to_end(session.root_id)
            return self._overdue(session)

    def _overdue(self, latest: Session) -> list[Session]:
        # move_to_end keeps the longest idle session in front, so that this costs next to nothing.
        overdue: list[Session] = []
        deadline = time.monotonic() - IDLE_SECONDS
        for session in self._sessions.values():
            kept = len(self._sessions) - len(overdue)
            crowded = kept > MAX_SESSIONS or len(self._steps) > MAX_STEPS
            if session is latest or (not crowded and session.touched > deadline):
                break
            overdue.append(session)
            if crowded and kept <= MAX_SESSIONS:
                break
        return overdue

    def remove(self, step: Step) -> None:
        """Forget a step that is over."""
        with self._lock:
            self._steps.pop(step.run_id, None)
            step.session.steps.pop(step.run_id, None)

    def drop(self, session: Session) -> list[Step]:
        """Forget a session; return its steps that never ended, innermost first."""
        with self._lock:
            self._sessions.pop(session.root_id, None)
            left = list(reversed(session.steps.values()))
            session.steps.clear()
            for step in left:
                self._steps.pop(step.run_id, None)
        return left

    def sessions(self) -> list[Session]:
        """Return all sessions under way."""
        with self._lock:
            return list(self._sessions.values())

    def park(self, session: Session) -> None:
        """Note what an interrupted session had done, until its conversation is resumed."""
        if session.conversation_id is None:
            return
        paused = Paused(session.paused_at, session.paused_agent, session.memory)
        with self._lock:
            self._paused[session.conversation_id] = paused
            while len(self._paused) > MAX_PAUSED:
                self._paused.popitem(last=False)

    def unpark(self, conversation: str | None) -> Paused | None:
        """Take what was noted when the conversation was paused."""
        with self._lock:
            return self._paused.pop(conversation or "", None)
