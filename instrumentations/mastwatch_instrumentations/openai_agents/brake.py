"""Carries out what the host lets mastwatch do to a run: end it, or say something in it."""

from __future__ import annotations

from typing import Any

from mastwatch.interventions import RunHalted
from mastwatch.spans.emit import Emitter, Run
from mastwatch_instrumentations._patch import argument


class Brake:
    """Asks for orders before a model is asked.

    The SDK lets a hook end a run by what it raises: ``Runner.run`` raises ``RunHalted``, a stream
    raises it from ``stream_events()``.

    Args:
        emitter: Knows the orders.
    """

    def __init__(self, emitter: Emitter) -> None:
        self._emitter = emitter

    def halted(self, run: Run) -> RunHalted | None:
        """Return what ends a run that is to end."""
        interventions = self._emitter.interventions
        if interventions is None or not interventions.halting(run.id):
            return None
        return interventions.end(run.id)

    def nudged(
        self, run: Run, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of a model's method, with what we have to say added.

        The methods are ``get_response`` and ``stream_response(system_instructions, input, ...)``.
        """
        interventions = self._emitter.interventions
        text = interventions.take_nudge(run.id) if interventions is not None else ""
        if not text:
            return args, kwargs
        given = argument(args, kwargs, 1, "input")
        before = [{"role": "user", "content": given}] if isinstance(given, str) else given
        said = [*before, {"role": "user", "content": text}]  # a list of our own
        if len(args) > 1:
            return (args[0], said, *args[2:]), kwargs
        return args, {**kwargs, "input": said}
