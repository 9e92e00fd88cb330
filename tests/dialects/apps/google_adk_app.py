"""A planner with a clerk, on Google ADK; with ``loop`` the clerk asks the same again and again."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools.agent_tool import AgentTool
from google.genai import types


class Scripted(BaseLlm):
    said: list[Any]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        said = self.said.pop(0)
        if isinstance(said, str):
            part = types.Part(text=said)
        else:
            id, name, given = said
            part = types.Part(function_call=types.FunctionCall(id=id, name=name, args=given))
        yield LlmResponse(
            content=types.Content(role="model", parts=[part]),
            finish_reason=types.FinishReason.STOP,
            usage_metadata=types.GenerateContentResponseUsageMetadata(
                prompt_token_count=20, candidates_token_count=8, total_token_count=28
            ),
        )


def lookup_order(number: str) -> str:
    """Say where an order is."""
    return f"Order {number} left the warehouse on Monday."


async def main(times: int) -> None:
    asks = [(f"look_{n}", "lookup_order", {"number": "A-17"}) for n in range(times)]
    clerk = LlmAgent(
        name="clerk",
        model=Scripted(model="scripted-1", said=[*asks, "The order left the warehouse on Monday."]),
        tools=[lookup_order],
    )
    planner = LlmAgent(
        name="planner",
        model=Scripted(
            model="scripted-1",
            said=[
                ("ask_1", "clerk", {"request": "Where is order A-17?"}),
                "Your order is on its way since Monday.",
            ],
        ),
        tools=[AgentTool(clerk)],
    )
    runner = InMemoryRunner(planner, app_name="shop")
    session = await runner.session_service.create_session(app_name="shop", user_id="customer")
    task = types.Content(role="user", parts=[types.Part(text="Where is my order A-17, please?")])
    async for event in runner.run_async(
        user_id="customer", session_id=session.id, new_message=task
    ):
        if event.is_final_response() and event.content:
            print(event.content.parts[0].text)


if __name__ == "__main__":
    asyncio.run(main(4 if "loop" in sys.argv[1:] else 1))
