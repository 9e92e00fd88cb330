"""What check_instrumentor runs of smolagents: a manager, and a helper with a tool."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

from smolagents import LogLevel, Tool, ToolCallingAgent
from smolagents.agents import MultiStepAgent

from apps.smolagents_model import Scripted, answers, asks

TASK = "Please find out about the weather in Ulm."
FOUND = "Heavy rain over the old minster."
ADVICE = "Take the long coat and the hat."


class Look(Tool):
    name = "look"
    description = "Looks at the sky."
    inputs: Any = {"city": {"type": "string", "description": "Where."}}  # noqa: RUF012
    output_type = "string"

    def forward(self, city: str) -> str:
        return FOUND


class Exercise:
    texts = (TASK, FOUND, ADVICE)

    def __init__(self) -> None:
        self._made: list[weakref.ref[Any]] = []

    def run(self) -> object:
        manager = self.agents()[0]
        self._made = [weakref.ref(manager)]
        return manager.run(TASK)

    def fail(self, error: Exception) -> None:
        self._agent("broken", error).run(TASK)

    def stream(self) -> Iterator[Any]:
        # A plan comes first: closed in the middle of a step smolagents' own stream raises.
        agent = self._agent("planner", "First think.", answers(ADVICE), planning_interval=9)
        stream: Iterator[Any] = agent.run(TASK, stream=True)
        return stream

    def agents(self) -> list[Any]:
        look = asks(("look", {"city": "Ulm"}, "c1"))
        helper = self._agent("helper", look, answers(FOUND), tools=[Look()])
        asked = asks(("helper", {"task": "Look at Ulm."}, "h1"))
        return [self._agent("manager", asked, answers(ADVICE), managed_agents=[helper]), helper]

    def made(self) -> list[weakref.ref[Any]]:
        return self._made

    def patched(self) -> list[tuple[object, str]]:
        return [
            (MultiStepAgent, "_run_stream"),
            (MultiStepAgent, "__call__"),
            (ToolCallingAgent, "execute_tool_call"),
            (Tool, "__call__"),
        ]

    def _agent(self, name: str, *script: Any, **options: Any) -> ToolCallingAgent:
        options = {"tools": [], **options}
        return ToolCallingAgent(
            model=Scripted(*script),
            name=name,
            description="Helps.",
            verbosity_level=LogLevel.OFF,
            **options,
        )
