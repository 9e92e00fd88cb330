# /// script
# requires-python = ">=3.11"
# dependencies = ["google-adk==2.13.0"]
# ///
"""Google ADK, which traces itself on the global provider.

Arguments: ``off`` for its default, no content; ``legacy`` for its older form of spans.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from typing import Any

FORM = sys.argv[1] if len(sys.argv) > 1 else ""
if FORM == "legacy":
    os.environ["ADK_TELEMETRY_SCHEMA_VERSION_OPT_IN"] = "1"
elif not FORM:
    os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "SPAN_ONLY"

import shop  # noqa: E402
from google.adk.agents import LlmAgent  # noqa: E402
from google.adk.models import BaseLlm, LlmRequest, LlmResponse  # noqa: E402
from google.adk.runners import InMemoryRunner  # noqa: E402
from google.adk.tools.agent_tool import AgentTool  # noqa: E402
from google.genai import types  # noqa: E402
from opentelemetry import trace  # noqa: E402
from otlp_file import OtlpFile  # noqa: E402


class Scripted(BaseLlm):
    """Says what it is told to: texts and tool calls."""

    said: list[Any]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        said = self.said.pop(0)
        if isinstance(said, str):
            part = types.Part(text=said)
        else:
            id, name, arguments = said
            part = types.Part(function_call=types.FunctionCall(id=id, name=name, args=arguments))
        yield LlmResponse(
            content=types.Content(role="model", parts=[part]),
            usage_metadata=types.GenerateContentResponseUsageMetadata(
                prompt_token_count=20, candidates_token_count=8, total_token_count=28
            ),
            finish_reason=types.FinishReason.STOP,
        )


def check_stock(item: str) -> dict[str, str]:
    """Say how many of an item there are."""
    return {"error": shop.CLOSED}


async def main(name: str) -> None:
    file = OtlpFile(name)
    trace.set_tracer_provider(file.provider())
    clerk = LlmAgent(
        name="clerk",
        model=Scripted(
            model="scripted-1",
            said=[
                ("call_2", "lookup_order", {"number": "A-17"}),
                ("call_3", "check_stock", {"item": "mug"}),
                shop.FOUND,
            ],
        ),
        instruction=shop.CLERK_PROMPT,
        tools=[shop.lookup_order, check_stock],
    )
    planner = LlmAgent(
        name="planner",
        model=Scripted(
            model="scripted-1",
            said=[("call_1", "clerk", {"request": shop.ASKED}), shop.ANSWER],
        ),
        instruction=shop.PLANNER_PROMPT,
        tools=[AgentTool(clerk)],
    )
    runner = InMemoryRunner(planner, app_name="shop")
    session = await runner.session_service.create_session(
        app_name="shop", user_id="customer", session_id="order-a17"
    )
    task = types.Content(role="user", parts=[types.Part(text=shop.TASK)])
    async for _ in runner.run_async(user_id="customer", session_id=session.id, new_message=task):
        pass
    file.write()


if __name__ == "__main__":
    asyncio.run(main(f"google_adk.{FORM}" if FORM else "google_adk"))
