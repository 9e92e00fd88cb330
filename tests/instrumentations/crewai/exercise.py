"""What check_instrumentor runs of CrewAI: a researcher with a tool and a writer, scripted."""

from __future__ import annotations

import asyncio
import threading
import time
import weakref
from collections.abc import Iterator
from typing import Any

from crewai import Crew
from crewai.flow.flow import Flow
from crewai.tools.tool_usage import ToolUsage

from apps.crewai_crews import Scripted, act, agent, chunk, final, pair, population, task
from mastwatch_instrumentations.crewai.library import executors

THOUGHT = "The register of the town will tell it."
FACT = "More than 330000 people live in Bonn."
ANSWER = "Bonn is home to a third of a million people."
BONN = {"city": "Bonn"}


class Exercise:
    texts = (THOUGHT, FACT, ANSWER, "Bonn: 330000")

    def __init__(self) -> None:
        self._made: list[weakref.ref[Any]] = []

    def run(self) -> object:
        crew = self._crew()
        self._made = [weakref.ref(crew), *map(weakref.ref, crew.agents)]
        return [output.raw for output in crew.kickoff(BONN).tasks_output]

    def fail(self, error: Exception) -> None:
        worker = agent("Writer", Scripted(error), max_retry_limit=0)
        Crew(agents=[worker], tasks=[task("Write.", worker)]).kickoff()

    async def cancel(self) -> None:
        begun, go_on = threading.Event(), threading.Event()

        def block() -> str:
            begun.set()
            go_on.wait(30)
            return final(FACT)

        crew = pair(Scripted(block), Scripted(final(ANSWER)))
        running = asyncio.create_task(crew.akickoff(BONN))
        await asyncio.to_thread(begun.wait, 30)
        running.cancel()
        try:
            await running
        finally:
            go_on.set()

    def stream(self) -> Iterator[Any]:
        def slowly() -> str:
            chunk("half")
            time.sleep(0.3)  # so that it is still at work when its stream is left
            return final(FACT)

        return iter(pair(Scripted(slowly), Scripted(final(ANSWER)), stream=True).kickoff(BONN))

    def patched(self) -> list[tuple[object, str]]:
        return [
            *((Crew, name) for name in ("kickoff", "kickoff_async", "akickoff", "replay")),
            *((Flow, name) for name in ("kickoff_async", "resume_async")),
            *((executor, "invoke") for executor in executors()),
            *((ToolUsage, name) for name in ("use", "ause")),
            (Scripted, "call"),
        ]

    def agents(self) -> list[object]:
        return [agent("Writer", Scripted())]

    def made(self) -> list[weakref.ref[Any]]:
        return self._made

    def _crew(self, **more: Any) -> Crew:
        research = Scripted(act(THOUGHT, "population", city="Bonn"), final(FACT))
        return pair(research, Scripted(final(ANSWER)), population, **more)
