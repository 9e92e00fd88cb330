"""Carries out what the host lets mastwatch do to a run: end it, or say something in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ag2.events import BaseEvent, ModelMessage, ModelRequest, ModelResponse, TextInput

from mastwatch.guard import guard
from mastwatch.interventions import SPEAKER
from mastwatch.spans.emit import Emitter
from mastwatch_instrumentations._patch import Call, Hook

if TYPE_CHECKING:
    from mastwatch_instrumentations.ag2.turns import Turn

HALTED = "HALTED: "
"""How AG2 begins the reply of a turn that it ends itself."""

_CHANNEL = "ag2.network.channel"  # ag2.network.CHANNEL_DEP: importing it would load the network


class Brake:
    """Asks for orders before each model call.

    A turn ends as AG2's ``AlertPolicy`` ends it: the model is not asked, the reply is ``HALTED``.
    In a channel that reply would be answered by the others, so there the channel is closed and
    nothing is said.

    Args:
        emitter: Knows the orders.
    """

    def __init__(self, emitter: Emitter) -> None:
        self._emitter = emitter

    def held(self, hook: Hook) -> Hook:
        """The hook of a model call, unless its run is to end; with a nudge if there is one."""

        async def ask(call: Call, watcher: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
            response: ModelResponse | None = None
            if self._emitter.interventions is not None and watcher.turn is not None:
                with guard("ag2.act"):
                    response = await self._halt(watcher.turn, args[1])
                    if response is None:
                        call = self._nudged(watcher.turn, call)
            return response if response is not None else await hook(call, watcher, args, kwargs)

        return ask

    async def _halt(self, turn: Turn, context: Any) -> ModelResponse | None:
        interventions, run_id = self._emitter.interventions, turn.run.id
        if interventions is None or not interventions.halting(run_id):
            return None
        halted = interventions.end(run_id)
        turn.halted = True
        if turn.channel is None:
            return ModelResponse(ModelMessage(HALTED + halted.reason))
        channel = context.dependencies.get(_CHANNEL)
        if channel is not None:
            await channel.close(reason=halted.reason)
        return ModelResponse()

    def _nudged(self, turn: Turn, call: Call) -> Call:
        interventions = self._emitter.interventions
        text = interventions.take_nudge(turn.run.id) if interventions is not None else ""
        if not text:
            return call
        said = ModelRequest([TextInput(f"[{SPEAKER}] {text}")])

        async def ask(events: Sequence[BaseEvent], context: Any) -> Any:
            return await call([*events, said], context)  # a list of our own: the history is theirs

        return ask
