"""Carries out what the host lets mastwatch do to a run: end it, or say something in it."""

from __future__ import annotations

from typing import Any

from mastwatch.spans.emit import Emitter, Scope
from mastwatch_instrumentations._patch import argument
from mastwatch_instrumentations.smolagents.session import Session


class Brake:
    """Asks for orders after each step and before a model is asked.

    A run ends by smolagents' own means, ``agent.interrupt()``: the agent does not begin another
    step, and ``run()`` raises ``AgentError("Agent interrupted.")``.

    Args:
        emitter: Knows the orders.
    """

    def __init__(self, emitter: Emitter) -> None:
        self._emitter = emitter

    def after_step(self, session: Session) -> None:
        """Interrupt an agent whose run is to end."""
        interventions, agent = self._emitter.interventions, session.agent()
        if interventions is None or agent is None or not interventions.halting(session.run.id):
            return
        interventions.end(session.run.id)
        agent.interrupt()

    def nudged(
        self, scope: Scope | None, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of ``generate(messages, ...)``, with what we have to say added."""
        interventions = self._emitter.interventions
        if interventions is None or scope is None:
            return args, kwargs
        text = interventions.take_nudge(scope.run.id)
        if not text:
            return args, kwargs
        from smolagents.models import ChatMessage, MessageRole

        message = ChatMessage(role=MessageRole.USER, content=[{"type": "text", "text": text}])
        said = [*argument(args, kwargs, 0, "messages"), message]  # a list of our own
        return ((said, *args[1:]), kwargs) if args else (args, {**kwargs, "messages": said})
