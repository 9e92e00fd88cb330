"""What check_instrumentor runs of LangChain: a supervisor, a researcher, a writer, scripted."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncIterator
from typing import Any

from langchain_core.tools import tool

from apps import langgraph_apps as apps

TASK = "Find the population of Ulm and write one sentence about it."
SENTENCE = "Ulm on the Danube is home to many a sparrow."


class Exercise:
    texts = (TASK, "You are a researcher.", "The book says 128928 for Ulm.", SENTENCE)

    def __init__(self) -> None:
        self._made: list[weakref.ref[Any]] = []

    def run(self) -> object:
        app = self._app()
        self._made = [weakref.ref(app)]
        return [message.content for message in app.invoke(self._input())["messages"]]

    def fail(self, error: Exception) -> None:
        apps.supervisor_app(researcher=[error]).invoke(self._input())

    async def cancel(self) -> None:
        begun = asyncio.Event()

        @tool
        async def wait(city: str) -> str:
            """Wait."""
            begun.set()
            await asyncio.sleep(60)
            return city

        app = apps.tool_agent_app([apps.calls(("wait", {"city": "Ulm"}))], tools=[wait])
        run = asyncio.create_task(app.ainvoke(self._input()))
        await begun.wait()
        run.cancel()
        await run

    def stream(self) -> AsyncIterator[Any]:
        return self._app().astream(self._input())

    def made(self) -> list[weakref.ref[Any]]:
        return self._made

    def _app(self) -> Any:
        return apps.supervisor_app(
            researcher=[
                apps.calls(("lookup", {"city": "Ulm"})),
                "The book says 128928 for Ulm.",
            ],
            writer=[SENTENCE],
        )

    def _input(self) -> Any:
        return {"messages": [("user", TASK)]}
