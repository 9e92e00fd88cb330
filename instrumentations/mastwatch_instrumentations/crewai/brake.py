"""Carries out what the host lets mastwatch do to a run: end it, or say something in it."""

from __future__ import annotations

from functools import cache
from typing import Any

from mastwatch.guard import guard
from mastwatch.interventions import SPEAKER, RunHalted
from mastwatch.spans.emit import Emitter
from mastwatch_instrumentations._patch import Call, Hook
from mastwatch_instrumentations.crewai.library import find
from mastwatch_instrumentations.crewai.place import here


class Brake:
    """Asks for orders where a model is about to be asked.

    A run ends by the exception with which CrewAI's own hooks stop an execution: no agent tries
    again after it, and it comes out of ``kickoff``.

    Args:
        emitter: Knows the orders.
    """

    def __init__(self, emitter: Emitter) -> None:
        self._emitter = emitter

    def unless_halted(self, hook: Hook) -> Hook:
        """The hook of a model call: not made in a run that is to end."""

        def ask(call: Call, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            halted: RunHalted | None = None
            if self._emitter.interventions is not None:
                with guard("crewai.act"):
                    halted, args, kwargs = self._orders(args, kwargs)
            if halted is not None:
                raise halted
            return hook(call, model, args, kwargs)

        return ask

    def _orders(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[RunHalted | None, tuple[Any, ...], dict[str, Any]]:
        scope, interventions, place = (
            self._emitter.current(),
            self._emitter.interventions,
            here.get(),
        )
        if scope is None or interventions is None or place is None:
            return None, args, kwargs
        if interventions.halting(scope.run.id):
            return _as_abort(interventions.end(scope.run.id)), args, kwargs
        messages = args[0] if args else kwargs.get("messages")
        if place.turn is None or not isinstance(messages, list) or not place.turn.voices(messages):
            return None, args, kwargs
        text = interventions.take_nudge(scope.run.id)
        if not text:
            return None, args, kwargs
        # A list of our own: the agent's conversation is CrewAI's.
        said = [*messages, {"role": "user", "name": SPEAKER, "content": text}]
        return (
            (None, (said, *args[1:]), kwargs)
            if args
            else (None, args, {**kwargs, "messages": said})
        )


def _as_abort(halted: RunHalted) -> RunHalted:
    """The exception as CrewAI's own abort, so that no agent tries again."""
    base = find("hooks.dispatch", "HookAborted")
    if base is None:
        return halted
    return _kind(base)(halted.reason, halted.run_id, halted.finding, halted.transcript)


@cache
def _kind(base: type[Exception]) -> type[RunHalted]:
    return type("CrewHalted", (RunHalted, base), {"__doc__": RunHalted.__doc__})
