"""What check_instrumentor runs of the OpenAI Agents SDK: a hand-off, a tool, an agent as a tool.

There is no ``stream``: the SDK's streams are not lazy, ``run_streamed`` begins at once and goes on
without a reader.
"""

from __future__ import annotations

import asyncio
import weakref
from typing import Any

from agents import Agent, Runner, function_tool, set_trace_processors
from agents.run import AgentRunner

from apps.openai_agents_model import Scripted, calls, says

set_trace_processors([])  # nothing to upload
TASK = "Please find out about the weather in Ulm."
FOUND = "Heavy rain over the old minster."
ADVICE = "Take the long coat and the hat."


class Exercise:
    texts = (TASK, FOUND, ADVICE, "You look at the sky all day.")

    def __init__(self) -> None:
        self._made: list[weakref.ref[Any]] = []

    def run(self) -> object:
        first = self.agents()[0]
        self._made = [weakref.ref(first)]
        result = Runner.run_sync(first, TASK)
        return [result.final_output, [item.type for item in result.new_items]]

    def fail(self, error: Exception) -> None:
        Runner.run_sync(Agent(name="broken", model=Scripted(error)), TASK)

    async def cancel(self) -> None:
        begun = asyncio.Event()

        @function_tool
        async def wait(city: str) -> str:
            begun.set()
            await asyncio.sleep(60)
            return city

        model = Scripted(calls("wait", '{"city": "Ulm"}', "w1"))
        run = asyncio.create_task(
            Runner.run(Agent(name="patient", tools=[wait], model=model), TASK)
        )
        await begun.wait()
        run.cancel()
        await run

    def agents(self) -> list[Any]:
        @function_tool
        def look(city: str) -> str:
            return FOUND

        watcher = Agent(
            name="watcher",
            instructions="You look at the sky all day.",
            tools=[look],
            model=Scripted(calls("look", '{"city": "Ulm"}', "c1"), says(FOUND)),
        )
        adviser = Agent(
            name="adviser",
            tools=[watcher.as_tool("ask_watcher", "Knows the sky.")],
            model=Scripted(calls("ask_watcher", '{"input": "And now?"}', "a1"), says(ADVICE)),
        )
        desk = Agent(
            name="desk",
            handoffs=[adviser],
            model=Scripted(calls("transfer_to_adviser", "{}", "h1")),
        )
        return [desk, adviser, watcher]

    def made(self) -> list[weakref.ref[Any]]:
        return self._made

    def patched(self) -> list[tuple[object, str]]:
        return [(AgentRunner, "run"), (AgentRunner, "run_streamed"), (Scripted, "get_response")]
