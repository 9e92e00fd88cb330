# /// script
# requires-python = ">=3.11"
# dependencies = ["pydantic-ai-slim==2.68.0", "opentelemetry-sdk==1.45.1"]
# ///
"""Pydantic AI, traced by itself. ``off``: no content; ``v2``: with the keys of format 2."""

from __future__ import annotations

import sys

import shop
from otlp_file import OtlpFile
from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_ai.usage import RequestUsage


def scripted(*said: ToolCallPart | str) -> FunctionModel:
    turns = iter(said)

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        turn = next(turns)
        part = TextPart(turn) if isinstance(turn, str) else turn
        return ModelResponse(parts=[part], usage=RequestUsage(input_tokens=20, output_tokens=8))

    return FunctionModel(answer, model_name="scripted-1")


def story() -> None:
    clerk = Agent(
        scripted(
            ToolCallPart("lookup_order", {"number": "A-17"}, "call_2"),
            ToolCallPart("check_stock", {"item": "mug"}, "call_3"),
        ),
        name="clerk",
        instructions=shop.CLERK_PROMPT,
        tools=[shop.lookup_order, shop.check_stock],
    )
    planner = Agent(
        scripted(
            ToolCallPart("ask_clerk", {"request": shop.ASKED}, "call_1"),
            shop.ANSWER,
        ),
        name="planner",
        instructions=shop.PLANNER_PROMPT,
    )

    @planner.tool_plain
    async def ask_clerk(request: str) -> str:
        try:
            return (await clerk.run(request)).output
        except ValueError:
            return shop.FOUND

    planner.run_sync(shop.TASK, conversation_id="order-a17")


def main(form: str) -> None:
    file = OtlpFile(f"pydantic_ai.{form}" if form else "pydantic_ai")
    Agent.instrument_all(
        InstrumentationSettings(
            tracer_provider=file.provider(),
            include_content=form != "off",
            version=2 if form == "v2" else 5,
        )
    )
    story()
    file.write({"model_request_parameters": None, "gen_ai.tool.definitions": None})


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
