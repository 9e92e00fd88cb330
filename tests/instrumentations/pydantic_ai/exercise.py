"""What check_instrumentor runs of Pydantic AI: a planner and a clerk with a tool, scripted."""

from __future__ import annotations

import asyncio
import weakref
from typing import Any

from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

TASK = "Where is my order A-17, please?"
ASKED = "Where is order A-17 by now?"
FOUND = "Order A-17 left the warehouse on Monday."
ANSWER = "Your order is on its way since Monday."


def scripted(*said: ToolCallPart | str | Exception) -> FunctionModel:
    turns = iter(said)

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        turn = next(turns)
        if isinstance(turn, Exception):
            raise turn
        return ModelResponse(parts=[TextPart(turn) if isinstance(turn, str) else turn])

    return FunctionModel(answer, model_name="scripted-1")


class Exercise:
    texts = (TASK, ASKED, FOUND, ANSWER)

    def __init__(self) -> None:
        self._made: list[weakref.ref[Any]] = []

    def run(self) -> object:
        clerk = Agent(
            scripted(ToolCallPart("look_up", {"number": "A-17"}, "look_1"), FOUND),
            name="clerk",
            tools=[look_up],
        )
        planner = self._planner(
            ToolCallPart("ask_clerk", {"request": ASKED}, "ask_1"), ANSWER, clerk=clerk
        )
        self._made = [weakref.ref(clerk), weakref.ref(planner)]
        return planner.run_sync(TASK).output

    def fail(self, error: Exception) -> None:
        self._planner(error).run_sync(TASK)

    async def cancel(self) -> None:
        begun = asyncio.Event()
        agent = self._planner(ToolCallPart("wait", {}, "wait_1"))

        @agent.tool_plain
        async def wait() -> str:
            begun.set()
            await asyncio.sleep(60)
            return "late"

        run = asyncio.create_task(agent.run(TASK))
        await begun.wait()
        run.cancel()
        await run

    def made(self) -> list[weakref.ref[Any]]:
        return self._made

    def _planner(self, *said: Any, clerk: Any = None) -> Any:
        planner = Agent(scripted(*said), name="planner")
        if clerk is not None:

            @planner.tool_plain
            async def ask_clerk(request: str) -> str:
                return str((await clerk.run(request)).output)

        return planner


def look_up(number: str) -> str:
    """Say where an order is."""
    return f"Order {number} left the warehouse on Monday."
