"""A planner with a clerk, on AG2 1.x with its own telemetry; ``loop``: the clerk repeats itself."""

from __future__ import annotations

import asyncio
import json
import sys

from ag2 import Agent
from ag2.events import ToolCallEvent
from ag2.middleware.builtin.telemetry import TelemetryMiddleware
from ag2.testing import TestConfig


def lookup_order(number: str) -> str:
    """Say where an order is."""
    return f"Order {number} left the warehouse on Monday."


def call(id: str, name: str, **given: str) -> ToolCallEvent:
    return ToolCallEvent(name=name, arguments=json.dumps(given), id=id)


async def main(times: int) -> None:
    asks = [call(f"look_{n}", "lookup_order", number="A-17") for n in range(times)]
    clerk = Agent(
        "clerk",
        config=TestConfig(*asks, "The order left the warehouse on Monday."),
        tools=[lookup_order],
        middleware=[TelemetryMiddleware(agent_name="clerk")],
    )
    planner = Agent(
        "planner",
        config=TestConfig(
            call("ask_1", "task_clerk", objective="Where is order A-17?"),
            "Your order is on its way since Monday.",
        ),
        tools=[clerk.as_tool(description="Looks up orders.")],
        middleware=[TelemetryMiddleware(agent_name="planner")],
    )
    print((await planner.ask("Where is my order A-17, please?")).body)


if __name__ == "__main__":
    asyncio.run(main(4 if "loop" in sys.argv[1:] else 1))
