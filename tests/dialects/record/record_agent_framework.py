# /// script
# requires-python = ">=3.10"
# dependencies = ["agent-framework-core==1.23.0", "opentelemetry-sdk==1.45.1"]
# ///
"""Microsoft agent-framework, which traces itself on the global provider.

Arguments: ``old`` for the conventions of semconv 1.36, ``off`` for no content.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

FORM = sys.argv[1] if len(sys.argv) > 1 else ""
os.environ["ENABLE_SENSITIVE_DATA"] = "false" if FORM == "off" else "true"
if FORM == "old":
    os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "none"

import shop  # noqa: E402
from agent_framework import (  # noqa: E402
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    Message,
    UsageDetails,
    WorkflowBuilder,
)
from agent_framework.observability import ChatTelemetryLayer  # noqa: E402
from opentelemetry import trace  # noqa: E402
from otlp_file import OtlpFile  # noqa: E402


class Scripted(FunctionInvocationLayer, ChatMiddlewareLayer, ChatTelemetryLayer, BaseChatClient):
    """Says what it is told to: texts and tool calls."""

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
                id, name, arguments = said
                content = Content.from_function_call(call_id=id, name=name, arguments=arguments)
            return ChatResponse(
                messages=[Message(role="assistant", contents=[content])],
                response_id="response-1",
                model="scripted-1",
                finish_reason="stop" if isinstance(said, str) else "tool_calls",
                usage_details=UsageDetails(input_token_count=20, output_token_count=8),
            )

        return answer()


async def main(name: str) -> None:
    file = OtlpFile(name)
    trace.set_tracer_provider(file.provider())
    planner = Agent(Scripted(shop.ASKED), shop.PLANNER_PROMPT, id="agent-1", name="planner")
    clerk = Agent(
        Scripted(
            ("call_1", "lookup_order", '{"number": "A-17"}'),
            ("call_2", "check_stock", '{"item": "mug"}'),
            shop.ANSWER,
        ),
        shop.CLERK_PROMPT,
        id="agent-2",
        name="clerk",
        tools=[shop.lookup_order, shop.check_stock],
    )
    workflow = WorkflowBuilder(name="desk", start_executor=planner).add_edge(planner, clerk).build()
    await workflow.run(shop.TASK)
    file.write({"agent_framework.function.invocation.duration": 0.001, "workflow.definition": None})


if __name__ == "__main__":
    asyncio.run(main(f"agent_framework.{FORM}" if FORM else "agent_framework"))
