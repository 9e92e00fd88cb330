"""Carries out what the host lets mastwatch do to a run: end it, or say something in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from autogen_agentchat.base import TerminationCondition
from autogen_agentchat.messages import StopMessage
from autogen_core.models import UserMessage

from mastwatch.guard import guard
from mastwatch.interventions import SPEAKER
from mastwatch_instrumentations._patch import Call, Hook, argument
from mastwatch_instrumentations.agentchat.tracker import Tracker


class Brake:
    """Asks for orders at the hooks that can carry them out.

    A team ends as its termination condition would end it: after the turn that is under way, with
    its result and a stop reason. An agent on its own has no such condition: what it asks its model
    next gets ``RunHalted`` instead of an answer.

    Args:
        tracker: Knows the runs.
    """

    def __init__(self, tracker: Tracker) -> None:
        self._emitter = tracker.emitter
        self._tracker = tracker

    def stopping(self, hook: Hook) -> Hook:
        """The hook of what a manager is told: a halted team's condition is met by it."""

        async def handle(
            call: Call, member: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
        ) -> Any:
            halted = None
            if self._emitter.interventions is not None:
                with guard("agentchat.halt"):
                    halted = self._halted(member)
            if halted is None:
                return await hook(call, member, args, kwargs)
            with _instead(member, halted):
                return await hook(call, member, args, kwargs)

        return handle

    def _halted(self, member: Any) -> _Halted | None:
        interventions = self._emitter.interventions
        conversation = self._tracker.of_member(member)
        if interventions is None or conversation is None:
            return None
        if not isinstance(member, self._tracker.library.manager):
            return None
        if not hasattr(member, "_termination_condition"):
            return None
        run_id = conversation.run.id
        if not interventions.halting(run_id):
            return None
        reason = interventions.reason(run_id)
        return _Halted(member._termination_condition, reason, lambda: interventions.end(run_id))

    def asking(self, hook: Hook) -> Hook:
        """The hook of a model call: an agent on its own is halted here, others are nudged."""

        def ask(call: Call, client: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if self._emitter.interventions is not None:
                halted = None
                with guard("agentchat.halt"):
                    halted = self._halted_alone()
                if halted is not None:
                    raise halted
                with guard("agentchat.nudge"):
                    args, kwargs = self._with_nudge(args, kwargs)
            return hook(call, client, args, kwargs)

        return ask

    def _halted_alone(self) -> BaseException | None:
        interventions, scope = self._emitter.interventions, self._emitter.current()
        conversation = self._tracker.conversation_of(scope)
        if interventions is None or conversation is None or conversation.manager:
            return None
        run = conversation.run
        # Inside another run, that one is ended.
        return (
            interventions.end(run.id) if interventions.halting(run.id) and not run.branch else None
        )

    def _with_nudge(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        turn, interventions = self._tracker.turn_here(), self._emitter.interventions
        messages = argument(args, kwargs, 0, "messages")
        if interventions is None or turn is None or not isinstance(messages, Sequence):
            return args, kwargs
        if self._emitter.model_call_here() is not None:
            return args, kwargs
        text = interventions.take_nudge(turn.scope.run.id)
        if not text:
            return args, kwargs
        # A list of our own: the agent's history is the agent's.
        said = [*messages, UserMessage(content=text, source=SPEAKER)]
        if args:
            return (said, *args[1:]), kwargs
        return args, {**kwargs, "messages": said}


class _Halted(TerminationCondition):
    """A condition that is met, in front of the team's own."""

    def __init__(self, own: TerminationCondition | None, reason: str, ending: Any) -> None:
        self._own = own
        self._reason = reason
        self._ending = ending

    @property
    def terminated(self) -> bool:
        """Not before it is asked."""
        return False

    async def __call__(self, messages: Any) -> StopMessage | None:
        """Say that the team is to stop."""
        with guard("agentchat.halt"):
            self._ending()
        return StopMessage(content=self._reason, source=SPEAKER)

    async def reset(self) -> None:
        """Reset the team's own, as the manager does with what has ended a run."""
        if self._own is not None:
            await self._own.reset()


@contextmanager
def _instead(manager: Any, halted: _Halted) -> Iterator[None]:
    """Put a condition in the place of a manager's own while it handles one message."""
    own = manager._termination_condition
    manager._termination_condition = halted
    try:
        yield
    finally:
        if manager._termination_condition is halted:
            manager._termination_condition = own
