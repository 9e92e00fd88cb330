"""Carries out what the host lets mastwatch do to a run: end it, or say something in it."""

from __future__ import annotations

from typing import Any

from mastwatch.guard import guard
from mastwatch.interventions import SPEAKER, RunHalted
from mastwatch.spans.emit import Emitter
from mastwatch_instrumentations._patch import Call, Hook
from mastwatch_instrumentations.llama_index.library import find
from mastwatch_instrumentations.llama_index.runs import here


class Brake:
    """Asks for orders where an agent takes a step, and where its model is asked.

    An exception in a step is how a workflow ends that cannot go on: it comes out of the handler.

    Args:
        emitter: Knows the orders.
    """

    def __init__(self, emitter: Emitter) -> None:
        self._emitter = emitter

    def unless_halted(self, hook: Hook) -> Hook:
        """The hook of an agent's step: not taken in a run that is to end."""

        async def take(
            call: Call, agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
        ) -> Any:
            halted: RunHalted | None = None
            with guard("llama_index.halt"):
                interventions, session = self._emitter.interventions, here.get()
                if interventions is not None and session is not None:
                    run_id = session.run.id
                    halted = interventions.end(run_id) if interventions.halting(run_id) else None
            if halted is not None:
                raise halted
            return await hook(call, agent, args, kwargs)

        return take

    def nudged(self, hook: Hook) -> Hook:
        """The hook of a model call: what we have to say is added to what is sent."""

        async def ask(call: Call, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if self._emitter.interventions is not None:
                with guard("llama_index.nudge"):
                    args, kwargs = self._with_nudge(args, kwargs)
            return await hook(call, model, args, kwargs)

        return ask

    def _with_nudge(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        session, interventions = here.get(), self._emitter.interventions
        messages = args[0] if args else kwargs.get("messages")
        speaks = session is not None and self._emitter.current() is session.turn
        if session is None or interventions is None or not speaks or messages is None:
            return args, kwargs
        text = interventions.take_nudge(session.run.id)
        if not text:
            return args, kwargs
        kind = find("llama_index.core.llms", "ChatMessage")
        # A list of our own: the agent's memory is the app's.
        said = [*messages, kind(role="user", content=text, additional_kwargs={"name": SPEAKER})]
        return ((said, *args[1:]), kwargs) if args else (args, {**kwargs, "messages": said})
