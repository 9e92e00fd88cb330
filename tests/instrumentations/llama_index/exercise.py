"""What check_instrumentor runs of LlamaIndex: a researcher with a tool and a writer, scripted."""

from __future__ import annotations

import asyncio
import weakref
from typing import Any

from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.workflow import Workflow

from apps.llama_index_agents import Scripted, agent, ask, pair

TASK = "How many people live on the left bank?"
ANSWER = "A third of a million people live there."


def census(city: str) -> str:
    """Look up the census of a city."""
    return f"The census of {city} counts 330000 people"


class Exercise:
    """No ``stream``: a run begins with ``run()``, and ``stream_events`` only looks at it."""

    texts = (TASK, ANSWER, "The census of Bonn counts 330000 people")

    def __init__(self) -> None:
        self._made: list[weakref.ref[Any]] = []

    def run(self) -> object:
        async def main() -> str:
            team = self._team()
            self._made = [weakref.ref(team), *map(weakref.ref, team.agents.values())]
            return str(await team.run(user_msg=TASK))

        return asyncio.run(main())

    def fail(self, error: Exception) -> None:
        async def main() -> None:
            await agent("solo", Scripted(error)).run(user_msg=TASK)

        asyncio.run(main())

    async def cancel(self) -> None:
        begun = asyncio.Event()

        async def hang() -> str:
            begun.set()
            await asyncio.sleep(60)
            return ""

        async def work() -> None:
            await agent("solo", Scripted(hang)).run(user_msg=TASK)

        running = asyncio.create_task(work())
        await begun.wait()
        running.cancel()
        await running

    def patched(self) -> list[tuple[object, str]]:
        return [
            (Workflow, "run"),
            (FunctionAgent, "take_step"),
        ]

    def agents(self) -> list[object]:
        return [agent("solo", Scripted())]

    def made(self) -> list[weakref.ref[Any]]:
        return self._made

    def _team(self) -> AgentWorkflow:
        handoff = ask("c2", "handoff", to_agent="writer", reason="counted")
        return pair(
            Scripted([ask("c1", "census", city="Bonn")], [handoff]), Scripted(ANSWER), census
        )
