"""A planner with a clerk, on Pydantic AI; with ``loop`` the clerk asks the same again and again."""

from __future__ import annotations

import sys

from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage


def scripted(*said: ToolCallPart | str) -> FunctionModel:
    turns = iter(said)

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        turn = next(turns)
        part = TextPart(turn) if isinstance(turn, str) else turn
        return ModelResponse(parts=[part], usage=RequestUsage(input_tokens=20, output_tokens=8))

    return FunctionModel(answer, model_name="scripted-1")


def lookup_order(number: str) -> str:
    """Say where an order is."""
    return f"Order {number} left the warehouse on Monday."


def main(times: int) -> None:
    asks = [ToolCallPart("lookup_order", {"number": "A-17"}, f"look_{n}") for n in range(times)]
    clerk = Agent(
        scripted(*asks, "The order left the warehouse on Monday."),
        name="clerk",
        tools=[lookup_order],
    )
    planner = Agent(
        scripted(
            ToolCallPart("ask_clerk", {"request": "Where is order A-17?"}, "ask_1"),
            "Your order is on its way since Monday.",
        ),
        name="planner",
    )

    @planner.tool_plain
    async def ask_clerk(request: str) -> str:
        return (await clerk.run(request)).output

    print(planner.run_sync("Where is my order A-17, please?").output)


if __name__ == "__main__":
    main(4 if "loop" in sys.argv[1:] else 1)
