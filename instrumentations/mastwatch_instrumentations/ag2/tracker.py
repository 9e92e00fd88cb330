"""Where the hooks meet: which run a turn belongs to."""

from __future__ import annotations

from typing import Any

from ag2.events import BaseEvent

from mastwatch.spans.emit import Emitter, Run, Scope
from mastwatch_instrumentations.ag2 import reading
from mastwatch_instrumentations.ag2.brake import Brake
from mastwatch_instrumentations.ag2.channels import Channels
from mastwatch_instrumentations.ag2.turns import Turn

FRAMEWORK = "ag2"


class Tracker:
    """The open turns and channels of one installation.

    Args:
        emitter: Where everything goes.
    """

    def __init__(self, emitter: Emitter) -> None:
        self.emitter = emitter
        self.brake = Brake(emitter)
        self.channels = Channels(emitter)
        # By id of the stream, which has one turn at a time: what is under way, so no bound.
        self.turns: dict[object, Turn] = {}

    def open_turn(self, agent: Any, event: BaseEvent, context: Any, traced: bool) -> Turn | None:
        """Open a turn: in the channel or run we are in, else as a run or branch of its own."""
        if self.emitter.suppressed():
            return None
        here = self.emitter.current()
        channel = self.channels.of(here)
        member = channel.members.get(agent) if channel is not None else None
        key = context.stream.id
        if channel is not None and channel.run is not None and member is not None:
            channel.turn_begins(member.agent_id)
            scope = channel.run.turn(member.name)
            return Turn(self, key, channel.run, scope, member.name, False, (channel, member))
        name = reading.agent_name(agent)
        run, own = self._run_for(here, name, event, context, traced)
        return Turn(self, key, run, run.turn(name), name, own)

    def _run_for(
        self, here: Scope | None, name: str, event: BaseEvent, context: Any, traced: bool
    ) -> tuple[Run, bool]:
        # Directly in a run, the host's own for example, it is a step of it.
        if isinstance(here, Run) and not (traced and here.spans):
            return here, False
        prompt = "\n".join(context.prompt)
        run = self.emitter.start_run(
            name,
            framework=FRAMEWORK,
            task=reading.task_text(event),
            conversation_id=str(context.stream.id),
            prompts={name: prompt} if prompt else {},
            parent=here,
            spans=not traced,
        )
        return run, True
