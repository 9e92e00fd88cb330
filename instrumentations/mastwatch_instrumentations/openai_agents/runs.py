"""Runs of the SDK's Runner, from their start to their outcome."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

import agents
from agents.run_config import DEFAULT_MAX_TURNS

from mastwatch.events import Contract, Outcome
from mastwatch.guard import guard
from mastwatch.interventions import RunHalted
from mastwatch.spans.emit import Emitter, Run, ToolCall
from mastwatch_instrumentations._patch import argument
from mastwatch_instrumentations.openai_agents.brake import Brake
from mastwatch_instrumentations.openai_agents.hooks import OurHooks, beside
from mastwatch_instrumentations.openai_agents.models import Models
from mastwatch_instrumentations.openai_agents.reading import prompts_of, task_of
from mastwatch_instrumentations.openai_agents.session import Memory, Session

FRAMEWORK = "openai_agents"
MAX_PAUSED = 1_024
_UNNAMED = "Agent workflow"  # what the SDK calls a workflow without a name
_TRIPWIRES = (
    agents.InputGuardrailTripwireTriggered,
    agents.OutputGuardrailTripwireTriggered,
    agents.ToolInputGuardrailTripwireTriggered,
    agents.ToolOutputGuardrailTripwireTriggered,
)
_CANCELLED = (asyncio.CancelledError, KeyboardInterrupt)


class Ending(NamedTuple):
    """Outcome, the SDK's words for it, and the exception where it is an error."""

    outcome: Outcome
    reason: str
    error: BaseException | None = None


def ending_of_error(error: BaseException) -> Ending:
    """Tell how a run ended that raised; reasons are words of the SDK, never of the app.

    A guardrail that trips is the app calling the run off, and nothing that went wrong.
    """
    if isinstance(error, agents.MaxTurnsExceeded):
        return Ending("limit", str(error)[:80])
    if isinstance(error, (*_TRIPWIRES, RunHalted, *_CANCELLED)):
        return Ending("cancelled", type(error).__name__)
    return Ending("error", type(error).__name__, error)


def ending_of_result(result: Any) -> Ending:
    """Tell how a run ended by its result, streamed or not."""
    if result.interruptions:
        return Ending("paused", "tool approval")
    turns = getattr(result, "current_turn", None) or getattr(result, "_current_turn", 0)
    if result.max_turns is not None and turns > result.max_turns:
        return Ending("limit", f"Max turns ({result.max_turns}) exceeded")
    if any(one.output.tripwire_triggered for one in result.input_guardrail_results):
        return Ending("cancelled", agents.InputGuardrailTripwireTriggered.__name__)
    if getattr(result, "_cancel_mode", "none") != "none":
        return Ending("cancelled", "cancel")
    return Ending("completed", "final output")


class Key(NamedTuple):
    """What a paused run is found by when it is resumed; the SDK gives runs no id."""

    conversation: str | None
    task: bytes
    """A digest: many may wait for long, and tasks carry whole documents."""


class RunFrame:
    """The frame of ``AgentRunner.run``: a run, or a branch of the one around it.

    Args:
        session: What it tells.
        remember: Keeps what it is to know when it is resumed.
    """

    def __init__(self, session: Session, remember: Callable[[], None]) -> None:
        self.session = session
        self._remember = remember
        self.attached = session.attached

    def done(self, result: Any) -> None:
        """Record how it ended."""
        self.finish(ending_of_result(result))

    def failed(self, error: BaseException) -> None:
        """Record what it raised."""
        self.finish(ending_of_error(error))

    def finish(self, ending: Ending) -> None:
        """End the run."""
        self.session.finish(*ending)
        if ending.outcome == "paused":
            self._remember()


class StreamFrame(RunFrame):
    """The frame of ``AgentRunner.run_streamed``, which starts a task and returns."""

    def done(self, result: Any) -> None:
        """Wait for the task: the SDK goes on with it whether or not somebody reads the events."""

        def settled(task: asyncio.Task[Any]) -> None:
            with guard("openai_agents.run"):
                self.finish(self._ending(task, result))

        result.run_loop_task.add_done_callback(settled)

    def _ending(self, task: asyncio.Task[Any], result: Any) -> Ending:
        if task.cancelled() and getattr(result, "_cancel_mode", "immediate") == "none":
            return Ending("abandoned", "stream left before its end")
        if task.cancelled():
            return Ending("cancelled", "cancel")
        # ``exception()`` would mark it as seen, and asyncio says so where nobody looks at it.
        error = getattr(task, "_exception", None)
        return ending_of_result(result) if error is None else ending_of_error(error)


class Runs:
    """Opens runs.

    Args:
        emitter: Where everything goes.
        models: Watches models.
        brake: Ends runs.
        traced_by: Tells who else makes spans for the SDK.
    """

    def __init__(
        self,
        emitter: Emitter,
        models: Models,
        brake: Brake,
        traced_by: Callable[[], tuple[str, ...]],
    ) -> None:
        self._emitter = emitter
        self._models = models
        self._brake = brake
        self._traced_by = traced_by
        self._paused: OrderedDict[Key, Memory] = OrderedDict()

    def run(self, runner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> RunFrame | None:
        """Open a run: ``(starting_agent, input, **options)``."""
        return self._open(RunFrame, args, kwargs)

    def streamed(
        self, runner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> RunFrame | None:
        """Open a run whose events are streamed."""
        return self._open(StreamFrame, args, kwargs)

    def _open(
        self, kind: type[RunFrame], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> RunFrame | None:
        if self._emitter.suppressed():
            return None
        agent = argument(args, kwargs, 0, "starting_agent")
        given = argument(args, kwargs, 1, "input")
        state = given if isinstance(given, agents.RunState) else None
        around = self._emitter.current()
        task = task_of(_asked(given, state))
        key = Key(_conversation(state, kwargs), _digest(task))
        # A state from elsewhere (another process, a copy) goes on with no run that is known here.
        memory = self._paused.pop(key, None) if state is not None else None
        run = self._start(agent, task, key, state, kwargs, resume=memory is not None)
        speaker = agent if state is None else getattr(state, "_current_agent", None) or agent
        caller = around.agent if isinstance(around, ToolCall) else ""
        session = Session(run, speaker.name, caller)
        session.memory = memory or session.memory
        if state is not None:
            run.human_replied(speaker.name)
        # These are the wrapper's own kwargs: the SDK gets our hooks with the app's behind them.
        ours = OurHooks(session, self._models.watch, self._brake)
        kwargs["hooks"] = beside(ours, kwargs.get("hooks"))
        return kind(session, lambda: self._remember(key, session.memory))

    def _start(
        self,
        agent: Any,
        task: str | None,
        key: Key,
        state: Any,
        kwargs: dict[str, Any],
        resume: bool,
    ) -> Run:
        name = _option(kwargs.get("run_config"), "workflow_name")
        turns = kwargs.get("max_turns", DEFAULT_MAX_TURNS)
        if state is not None:
            turns = getattr(state, "_max_turns", turns)
        # The SDK's own limit only stops what runs away: near it a healthy run is no worse off.
        limit = None if turns == DEFAULT_MAX_TURNS else turns
        return self._emitter.start_run(
            name if name and name != _UNNAMED else agent.name,
            framework=FRAMEWORK,
            task=task,
            conversation_id=key.conversation,
            prompts=prompts_of(agent),
            contract=Contract(max_messages=limit, source="max_turns", uncapped=turns is None),
            resume=resume,
            spans=not self._traced_by(),
        )

    def _remember(self, key: Key, memory: Memory) -> None:
        self._paused[key] = memory
        while len(self._paused) > MAX_PAUSED:
            self._paused.popitem(last=False)


def _digest(task: str | None) -> bytes:
    return hashlib.sha256((task or "").encode(errors="replace")).digest()


def _asked(given: Any, state: Any) -> Any:
    return given if state is None else getattr(state, "_original_input", None)


def _option(config: object, name: str) -> Any:
    return config.get(name) if isinstance(config, dict) else getattr(config, name, None)


def _conversation(state: Any, kwargs: dict[str, Any]) -> str | None:
    """Return what the app tells its conversations apart by."""
    found = (
        getattr(kwargs.get("session"), "session_id", None)
        or kwargs.get("conversation_id")
        or getattr(state, "_conversation_id", None)
        or _option(kwargs.get("run_config"), "group_id")
        or getattr(getattr(state, "_trace_state", None), "group_id", None)
    )
    return found if isinstance(found, str) else None
