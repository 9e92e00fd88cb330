# /// script
# requires-python = ">=3.10"
# dependencies = ["ag2[tracing]==1.2.1"]
# ///
"""AG2 1.x, traced by its own ``TelemetryMiddleware`` and hub."""

from __future__ import annotations

import asyncio
import json
import sys

import shop
from ag2 import Agent
from ag2.events import ModelMessage, ModelResponse, ToolCallEvent, ToolCallsEvent, Usage
from ag2.middleware.builtin.telemetry import TelemetryMiddleware
from ag2.testing import TestConfig
from otlp_file import OtlpFile

USAGE = Usage(prompt_tokens=20, completion_tokens=8)


def call(id: str, name: str, **arguments: str) -> ModelResponse:
    asked = ToolCallEvent(name=name, arguments=json.dumps(arguments), id=id)
    return ModelResponse(tool_calls=ToolCallsEvent([asked]), usage=USAGE, model="scripted-1")


def say(text: str) -> ModelResponse:
    return ModelResponse(ModelMessage(text), usage=USAGE, model="scripted-1")


async def main(name: str, capture: bool) -> None:
    file = OtlpFile(name)
    provider = file.provider()

    def telemetry(agent: str) -> TelemetryMiddleware:
        return TelemetryMiddleware(
            tracer_provider=provider,
            agent_name=agent,
            capture_content=capture,
            provider_name="openai",
        )

    clerk = Agent(
        "clerk",
        shop.CLERK_PROMPT,
        config=TestConfig(
            call("call_2", "lookup_order", number="A-17"),
            call("call_3", "check_stock", item="mug"),
            say(shop.FOUND),
            raise_tool_errors=False,
        ),
        tools=[shop.lookup_order, shop.check_stock],
        middleware=[telemetry("clerk")],
    )
    planner = Agent(
        "planner",
        shop.PLANNER_PROMPT,
        config=TestConfig(call("call_1", "task_clerk", objective=shop.ASKED), say(shop.ANSWER)),
        tools=[clerk.as_tool(description="Looks up orders.")],
        middleware=[telemetry("planner")],
    )
    await planner.ask(shop.TASK)
    file.write()


if __name__ == "__main__":
    off = "off" in sys.argv[1:]
    asyncio.run(main("ag2.off" if off else "ag2", capture=not off))
