"""The frames of agents at work: each attempt at a task is a turn."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from mastwatch.spans.emit import Emitter, Run, Scope, ToolCall
from mastwatch_instrumentations._patch import Frame, argument
from mastwatch_instrumentations.crewai import reading
from mastwatch_instrumentations.crewai.place import Place, Turn, here, outcome_of, wrong
from mastwatch_instrumentations.crewai.runs import FRAMEWORK, Kickoffs


class TurnFrame:
    """A turn, and the run or branch that is open for its sake alone."""

    def __init__(self, place: Place, turn: Turn, own: Run | None) -> None:
        self._place = place
        self._turn = turn
        self._own = own

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Make it the current scope."""
        token = here.set(self._place)
        try:
            with ExitStack() as attached:
                if self._own is not None:
                    attached.enter_context(self._own.attached())
                attached.enter_context(self._turn.scope.attached())
                yield
        finally:
            here.reset(token)

    def done(self, result: Any) -> None:
        """End the turn."""
        self._turn.scope.end()
        if self._own is not None:
            outcome, reason = self._place.ending()
            self._own.finish(outcome, reason or "agent_execution_completed")

    def failed(self, error: BaseException) -> None:
        """End the turn by an exception."""
        self._turn.scope.end(wrong(error))
        if self._own is not None:
            self._own.finish(outcome_of(error), type(error).__name__, error)


class BranchFrame:
    """A branch around what CrewAI asks an agent for itself, to check another's answer."""

    def __init__(self, place: Place) -> None:
        self._place = place

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Make it the current scope."""
        token = here.set(self._place)
        try:
            with self._place.run.attached():
                yield
        finally:
            here.reset(token)

    def done(self, result: Any) -> None:
        """End the branch."""
        self._place.run.finish("completed", "guardrail checked")

    def failed(self, error: BaseException) -> None:
        """End the branch by an exception."""
        self._place.run.finish(outcome_of(error), type(error).__name__, error)


class Turns:
    """Opens the frames of turns."""

    def __init__(self, emitter: Emitter, kickoffs: Kickoffs) -> None:
        self._emitter = emitter
        self._kickoffs = kickoffs

    def outside_a_loop(
        self, executor: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Frame | None:
        """Open the frame of ``invoke`` where it does the work itself.

        On a running event loop it only returns the coroutine of ``invoke_async``.
        """
        return None if _on_a_loop() else self.invoke(executor, args, kwargs)

    def invoke(self, executor: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Frame | None:
        """Open the frame of an executor's ``invoke(inputs)``."""
        inputs = argument(args, kwargs, 0, "inputs")
        asked = inputs.get("input") if isinstance(inputs, dict) else None
        task = getattr(executor, "task", None)
        beside = bool(getattr(task, "async_execution", False))
        return self._begin(executor, executor.agent, str(asked or ""), beside)

    def lite(self, agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Frame | None:
        """Open the frame of ``LiteAgent._invoke_loop()``, which is agent and executor in one."""
        return self._begin(agent, agent, reading.request_text(agent._messages), False)

    def _begin(self, executor: Any, agent: Any, task: str, beside: bool) -> TurnFrame | None:
        around, scope = here.get(), self._emitter.current()
        if self._emitter.suppressed() or (around is not None and around.run.finished):
            return None
        name, own = reading.role_of(agent), None
        if scope is None or beside or scope.run is not scope:
            # By itself, beside others, or inside a tool or another's turn: a conversation of its
            # own.
            own = self._kickoffs.start(name, task, [agent])
        if scope is not None and scope.run is not scope:
            _hand_off(scope, around, name)
        run = own or (around.run if around is not None else scope.run if scope else None)
        if run is None:
            return None
        forced = [] if own is not None or around is None else around.forced
        forced.clear()
        place = Place(run, id(executor), forced=forced)
        turn = Turn(run.turn(name), name, weakref.ref(executor), run, place)
        place.turn = turn
        return TurnFrame(place, turn, own)

    def guardrail(
        self, guardrail: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Frame | None:
        """Open the frame of a guardrail that asks an agent."""
        scope = self._emitter.current()
        if scope is None or self._emitter.suppressed():
            return None
        run = self._emitter.start_run("guardrail", framework=FRAMEWORK, parent=scope)
        return BranchFrame(Place(run, id(guardrail)))


def _hand_off(scope: Scope, around: Place | None, target: str) -> None:
    delegates = isinstance(scope, ToolCall) and scope.name in reading.DELEGATION
    if delegates and around is not None:
        scope.run.handed_off(scope.agent, target)


def _on_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class FeedbackFrame:
    """A person is asked what they think of an answer."""

    def __init__(self, run: Run, agent: str) -> None:
        self._run = run
        self._agent = agent

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Tell that the run waits."""
        self._run.human_asked(self._agent)
        yield

    def done(self, result: Any) -> None:
        """Nothing to add: feedback is told of when it is given."""

    def failed(self, error: BaseException) -> None:
        """Nothing to add: the turn tells of it."""


def feedback(executor: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Frame | None:
    """Open the frame of ``_handle_human_feedback(answer)``."""
    place = here.get()
    if place is None or place.turn is None or place.run.finished:
        return None
    return FeedbackFrame(place.run, place.turn.agent)


def feedback_given(
    executor: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
) -> None:
    """Tell what the person said: ``_format_feedback_message(feedback)``."""
    place = here.get()
    if place is not None and place.turn is not None and not place.run.finished:
        text = str(argument(args, kwargs, 0, "feedback") or "")
        place.run.human_replied(place.turn.agent, text)
