"""What check_instrumentor runs of AgentChat: a clerk with a tool and a reader, scripted."""

from __future__ import annotations

import asyncio
import sys
import weakref
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from autogen_agentchat.agents import AssistantAgent, BaseChatAgent
from autogen_agentchat.conditions import SourceMatchTermination
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core.tools import BaseStreamTool, BaseTool

_TESTS = str(Path(__file__).parents[2])
if _TESTS not in sys.path:
    sys.path.insert(0, _TESTS)  # for ``apps``

from apps.agentchat_apps import HANGS, Scripted, call  # noqa: E402

TASK = "How is the weather on the coast today?"
ANSWER = "Take a coat when you go to the harbour."
WEATHER = "Drizzle all day long in Kiel"


def weather(city: str) -> str:
    """The weather of a city."""
    return f"Drizzle all day long in {city}"


class Exercise:
    texts = (TASK, ANSWER, WEATHER)

    def __init__(self) -> None:
        self._made: list[weakref.ref[Any]] = []

    def run(self) -> object:
        result = asyncio.run(self._team().run(task=TASK))
        return [message.to_text() for message in result.messages], result.stop_reason

    def fail(self, error: Exception) -> None:
        asyncio.run(self._clerk(error).run(task=TASK))

    async def cancel(self) -> None:
        model = Scripted(HANGS)
        run = asyncio.create_task(AssistantAgent("clerk", model).run(task=TASK))
        while not model.requests:
            await asyncio.sleep(0)
        run.cancel()
        await run

    def stream(self) -> AsyncIterator[Any]:
        return self._team().run_stream(task=TASK)

    def patched(self) -> list[tuple[object, str]]:
        return [
            (RoundRobinGroupChat.__mro__[1], "run_stream"),
            *((BaseChatAgent, name) for name in ("run", "run_stream", "on_messages_stream")),
            *((AssistantAgent, name) for name in ("on_messages", "on_messages_stream")),
            (AssistantAgent, "_execute_tool_call"),
            *((Scripted, name) for name in ("create", "create_stream")),
            (BaseTool, "run_json"),
            (BaseStreamTool, "run_json_stream"),
        ]

    def agents(self) -> list[object]:
        return [self._clerk(ANSWER)]

    def made(self) -> list[weakref.ref[Any]]:
        return self._made

    def _clerk(self, *lines: Any) -> AssistantAgent:
        return AssistantAgent("clerk", Scripted(*lines), tools=[weather])

    def _team(self) -> RoundRobinGroupChat:
        members = [
            self._clerk(call("weather", city="Kiel")),
            AssistantAgent("reader", Scripted(ANSWER)),
        ]
        ends = SourceMatchTermination(["reader"])
        team = RoundRobinGroupChat([*members], termination_condition=ends)
        self._made = [weakref.ref(thing) for thing in (*members, team)]
        return team
