"""Carries out what the host lets mastwatch do to a chat: end it, or say something in it."""

from __future__ import annotations

from typing import Any

from mastwatch.guard import guard
from mastwatch.interventions import SPEAKER
from mastwatch_instrumentations._patch import Call, Hook, argument
from mastwatch_instrumentations.autogen.tracker import Tracker
from mastwatch_instrumentations.autogen.turns import quiet


class Brake:
    """Asks for orders at the hooks that can carry them out.

    A chat ends by AG2's own means, at the next point where it asks for a reply or a speaker:
    no reply, nobody to speak. What is under way (a message, a tool) still comes in.

    Args:
        tracker: Knows the chats.
    """

    def __init__(self, tracker: Tracker) -> None:
        self._emitter = tracker.emitter
        self._tracker = tracker

    def stops(self, agent: Any) -> bool:
        """Whether the chat we are in is to end before ``agent`` replies."""
        interventions = self._emitter.interventions
        if interventions is None or quiet():
            return False
        scope = self._emitter.current()
        if scope is None or not interventions.halting(scope.run.id):
            return False
        turn = self._tracker.turn_here(scope)
        if turn is not None and turn.agent is agent:
            return False  # it asks its other reply functions, and counts on an answer
        interventions.end(scope.run.id)
        return True

    def unless_halted(self, hook: Hook) -> Hook:
        """The hook of a speaker selection: in a chat that is to end nobody is chosen."""
        nobody = self._tracker.library.nobody

        def select(call: Call, group: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            ends = False
            with guard("autogen.halt"):
                ends = nobody is not None and self.stops(group)
            if ends and nobody is not None:
                raise nobody  # AG2's own word for it; its manager ends the chat
            return hook(call, group, args, kwargs)

        return select

    def nudged(self, hook: Hook) -> Hook:
        """The hook of a model call: what we have to say is added to what is sent."""

        def ask(call: Call, agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if self._emitter.interventions is not None:
                with guard("autogen.nudge"):
                    args, kwargs = self._with_nudge(agent, args, kwargs)
            return hook(call, agent, args, kwargs)

        return ask

    def _with_nudge(
        self, agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        messages = argument(args, kwargs, 1, "messages")
        scope, turn = self._tracker.place_of(agent, messages or ())
        interventions = self._emitter.interventions
        in_a_turn = turn is not None and not turn.hushed and not quiet()
        if interventions is None or scope is None or not in_a_turn or messages is None:
            return args, kwargs
        text = interventions.take_nudge(scope.run.id)
        if not text:
            return args, kwargs
        # A list of our own: the agents' histories are theirs.
        said = [*messages, {"role": "user", "name": SPEAKER, "content": text}]
        if len(args) > 1:
            return (args[0], said, *args[2:]), kwargs
        return args, {**kwargs, "messages": said}
