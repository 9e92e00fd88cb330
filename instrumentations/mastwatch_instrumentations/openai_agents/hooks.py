"""The SDK's own run hooks: ours beside the app's, if it has any."""

from __future__ import annotations

import json
from typing import Any

from agents.lifecycle import RunHooks, RunHooksBase

from mastwatch.guard import guard
from mastwatch_instrumentations.openai_agents.brake import Brake
from mastwatch_instrumentations.openai_agents.reading import parsed
from mastwatch_instrumentations.openai_agents.session import Session


class OurHooks(RunHooks[Any]):
    """Tells a session what the SDK tells its hooks.

    Args:
        session: Told of it.
        before_model: Makes sure that the model about to be asked is watched.
        brake: Knows whether the run is to end.
    """

    def __init__(self, session: Session, before_model: Any, brake: Brake) -> None:
        self._session = session
        self._before_model = before_model
        self._brake = brake

    async def on_llm_start(self, context: Any, agent: Any, *_: Any) -> None:
        """Note who is about to ask a model; in a run that is to end nobody asks."""
        halted = None
        with guard("openai_agents.llm_start"):
            halted = self._brake.halted(self._session.run)
            if halted is None:
                self._session.turn(agent.name)
                self._before_model()
        if halted is not None:
            raise halted

    async def on_agent_end(self, context: Any, agent: Any, output: Any) -> None:
        """End the turn."""
        with guard("openai_agents.agent_end"):
            self._session.end_turn()

    async def on_handoff(self, context: Any, from_agent: Any, to_agent: Any) -> None:
        """Report the hand-off."""
        with guard("openai_agents.handoff"):
            # The SDK's own words; a subclass of Handoff may have others.
            result = json.dumps({"assistant": to_agent.name})
            self._session.hand_off(from_agent.name, to_agent.name, result)

    async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
        """Open the tool call."""
        with guard("openai_agents.tool_start"):
            key = self._session.find(getattr(context, "tool_call_id", None), tool.name)
            given = parsed(getattr(context, "tool_arguments", None))
            self._session.begin_tool(agent.name, tool.name, key, given)

    async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: object) -> None:
        """Close the tool call."""
        with guard("openai_agents.tool_end"):
            key = self._session.find(getattr(context, "tool_call_id", None), tool.name)
            self._session.end_tool(key, result)


class Both(RunHooks[Any]):
    """Our hooks and the app's. Every hook the SDK has, now or later, reaches the app's.

    Args:
        ours: Called first.
        theirs: The app's; what it raises goes on to the SDK.
    """

    def __init__(self, ours: OurHooks, theirs: RunHooksBase[Any, Any]) -> None:
        self._ours = ours
        self._theirs = theirs

    def __getattr__(self, name: str) -> Any:
        return getattr(self._theirs, name)


def _beside(name: str) -> Any:
    async def both(self: Both, *args: Any, **kwargs: Any) -> Any:
        await getattr(self._ours, name)(*args, **kwargs)
        return await getattr(self._theirs, name)(*args, **kwargs)

    return both


for _name in dir(RunHooksBase):
    if _name.startswith("on_"):
        setattr(Both, _name, _beside(_name))


def beside(ours: OurHooks, theirs: object) -> object:
    """Return what the SDK is to call; something that is no hooks object it will refuse itself."""
    if theirs is None:
        return ours
    return Both(ours, theirs) if isinstance(theirs, RunHooksBase) else theirs
