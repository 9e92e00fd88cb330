"""A planner, then a clerk, on Microsoft's agent-framework; ``loop``: it repeats itself."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    Message,
    WorkflowBuilder,
)
from agent_framework.observability import ChatTelemetryLayer


class Scripted(FunctionInvocationLayer, ChatMiddlewareLayer, ChatTelemetryLayer, BaseChatClient):
    OTEL_PROVIDER_NAME = "openai"

    def __init__(self, *said: str | tuple[str, str, str]) -> None:
        super().__init__()
        self.said = iter(said)

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **_: Any
    ) -> Any:
        async def answer() -> ChatResponse:
            said = next(self.said)
            if isinstance(said, str):
                content = Content.from_text(said)
            else:
                id, name, given = said
                content = Content.from_function_call(call_id=id, name=name, arguments=given)
            return ChatResponse(
                messages=[Message(role="assistant", contents=[content])], model="scripted-1"
            )

        return answer()


def lookup_order(number: str) -> str:
    """Say where an order is."""
    return f"Order {number} left the warehouse on Monday."


async def main(times: int) -> None:
    asks = [(f"look_{n}", "lookup_order", '{"number": "A-17"}') for n in range(times)]
    planner = Agent(Scripted("Clerk, please look up order A-17."), name="planner")
    clerk = Agent(
        Scripted(*asks, "Your order is on its way since Monday."),
        name="clerk",
        tools=[lookup_order],
    )
    workflow = WorkflowBuilder(name="desk", start_executor=planner).add_edge(planner, clerk).build()
    result = await workflow.run("Where is my order A-17, please?")
    print(result.get_outputs()[-1])


if __name__ == "__main__":
    asyncio.run(main(4 if "loop" in sys.argv[1:] else 1))
