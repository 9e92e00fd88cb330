"""The frames of workflows: each is a run, or a branch of the one around it."""

from __future__ import annotations

import asyncio
import uuid
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from mastwatch import forks
from mastwatch.events import Outcome
from mastwatch.guard import guard
from mastwatch.interventions import RunHalted
from mastwatch.spans.emit import Emitter, Run, Scope, ToolCall
from mastwatch_instrumentations._patch import Frame, argument
from mastwatch_instrumentations.llama_index import reading

FRAMEWORK = "llama_index"
MAX_KEPT = 1_024
"""Conversations, and calls of a run that wait for an event."""

here: ContextVar[Session | None] = ContextVar("mastwatch_llama_index", default=None)


@dataclass(eq=False)
class Session:
    """A workflow under way; its steps find it in their context.

    Attributes:
        run: The run or branch.
        turn: The turn of the agent at work.
        asks: Whether a person has been asked and has not answered.
        limit: Why its agent was made to answer; empty when it answered by itself.
        waiting: Tool calls that wait for an event, by their id: their step runs again from the top.
        rows: Rows of the messages that asked for tools, by the calls' ids.
        under_way: Frames of steps and tools; who cancels a run hears of its end before they do.
    """

    run: Run
    turn: Scope | None = None
    asks: bool = False
    limit: str = ""
    waiting: OrderedDict[str, ToolCall] = field(default_factory=OrderedDict)
    rows: OrderedDict[str, int] = field(default_factory=OrderedDict)
    under_way: set[Frame] = field(default_factory=set)

    def turn_of(self, agent: str) -> Scope:
        """Return an agent's turn, a new one where another was at work: that is a hand-off."""
        if self.turn is not None and self.turn.agent == agent:
            return self.turn
        if self.turn is not None:
            self.turn.end()
            self.run.handed_off(self.turn.agent, agent)
        self.turn = self.run.turn(agent)
        return self.turn

    def end_turn(self, error: BaseException | None = None) -> None:
        """End the turn under way."""
        turn, self.turn = self.turn, None
        if turn is not None:
            turn.end(error)

    def finish(self, outcome: Outcome, reason: str, error: BaseException | None = None) -> None:
        """End the run, and what is still open in it."""
        for frame in tuple(self.under_way):
            frame.failed(asyncio.CancelledError())
        for call in self.waiting.values():
            call.returned(error="Cancelled")
        self.waiting.clear()
        self.end_turn(error if outcome == "error" else None)
        self.run.finish(outcome, reason, error)


def keep(known: OrderedDict[str, Any], key: str, value: Any) -> None:
    """Remember something, and forget the oldest beyond the bound."""
    known[key] = value
    while len(known) > MAX_KEPT:
        known.popitem(last=False)


class RunFrame:
    """The call that starts a workflow; the workflow goes on in tasks of its own."""

    def __init__(self, runs: Runs, session: Session, conversation: str) -> None:
        self._runs = runs
        self._session = session
        self._conversation = conversation

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Make it the current scope: the tasks that are made here begin with it."""
        token = here.set(self._session)
        try:
            with self._session.run.attached():
                yield
        finally:
            here.reset(token)

    def done(self, handler: Any) -> None:
        """Learn of the end when it comes."""
        self._runs.note(getattr(handler, "ctx", None), self._conversation)
        result = getattr(handler, "_result_task", handler)
        session = self._session
        result.add_done_callback(lambda task: _ended(session, task))

    def failed(self, error: BaseException) -> None:
        """End the run that could not start."""
        self._session.finish("error", type(error).__name__, error)


def _ended(session: Session, task: asyncio.Future[Any]) -> None:
    with guard("llama_index.end"):
        # Not ``exception()``: the loop would take an error for seen that nobody awaits.
        error = asyncio.CancelledError() if task.cancelled() else getattr(task, "_exception", None)
        session.finish(*_ending(session, error))


def _ending(session: Session, error: BaseException | None) -> tuple[Any, ...]:
    if error is None:
        if session.limit:
            return "limit", session.limit
        return "completed", "StopEvent"
    kind = type(error).__name__
    if isinstance(error, asyncio.CancelledError) or kind == "WorkflowCancelledByUser":
        return ("paused", "InputRequiredEvent") if session.asks else ("cancelled", kind)
    if isinstance(error, RunHalted):
        return "cancelled", error.reason
    if str(error).startswith("Max iterations of "):
        return "limit", str(error).split("!", 1)[0]
    if kind == "WorkflowTimeoutError":
        return "limit", kind
    return "error", kind, error


class Runs:
    """Opens the frames of workflows.

    Args:
        emitter: Opens runs.
        traced_by: Who else makes spans of LlamaIndex at the moment.
        watch: Called at each start: the app may have new classes of agents and models.
    """

    def __init__(
        self, emitter: Emitter, traced_by: Callable[[], tuple[str, ...]], watch: Callable[[], None]
    ) -> None:
        self._emitter = emitter
        self._traced_by = traced_by
        self._watch = watch
        self._conversations: OrderedDict[int, tuple[weakref.ref[Any], str]] = OrderedDict()
        self._lock = forks.lock()  # protects _conversations

    def run(self, workflow: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Frame | None:
        """Open the frame of ``Workflow.run(ctx, start_event, ...)``."""
        if self._emitter.suppressed():
            return None
        self._watch()
        ctx = argument(args, kwargs, 0, "ctx")
        start = argument(args, kwargs, 1, "start_event")
        given = {k: v for k, v in kwargs.items() if k not in ("ctx", "start_event", "run_id")}
        conversation = self._conversation(ctx)
        run = self._emitter.start_run(
            reading.name_of(workflow),
            framework=FRAMEWORK,
            task=reading.task_of(start, given),
            conversation_id=conversation,
            prompts=reading.prompts_of(workflow),
            resume=ctx is not None and bool(getattr(ctx, "is_running", False)),
            spans=not self._traced_by(),
        )
        return RunFrame(self, Session(run), conversation)

    def _conversation(self, ctx: Any) -> str:
        """The id of a context's conversation; a context that is new to us begins one."""
        with self._lock:
            known = self._conversations.get(id(ctx))
        if ctx is not None and known is not None and known[0]() is ctx:
            return known[1]
        return uuid.uuid4().hex

    def note(self, ctx: Any, conversation: str) -> None:
        """Remember which conversation a context is of."""
        if ctx is None:
            return
        with self._lock:
            self._conversations[id(ctx)] = (weakref.ref(ctx), conversation)
            while len(self._conversations) > MAX_KEPT:
                self._conversations.popitem(last=False)
