# /// script
# requires-python = ">=3.10"
# dependencies = ["autogen-agentchat==0.7.5", "autogen-ext==0.7.5", "opentelemetry-sdk==1.45.1"]
# ///
"""AutoGen agentchat over autogen-core, which traces itself on the global provider."""

from __future__ import annotations

import asyncio
import json

import shop
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import TextMentionTermination
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core import FunctionCall
from autogen_core.models import CreateResult, ModelInfo, RequestUsage
from autogen_ext.models.replay import ReplayChatCompletionClient
from opentelemetry import trace
from otlp_file import OtlpFile

KEPT = ("autogen process", "invoke_agent", "execute_tool", "create_agent")  # the rest says nothing
INFO = ModelInfo(
    vision=False,
    function_calling=True,
    json_output=False,
    family="unknown",
    structured_output=False,
)


def call(id: str, name: str, **arguments: str) -> CreateResult:
    return CreateResult(
        content=[FunctionCall(id=id, name=name, arguments=json.dumps(arguments))],
        finish_reason="function_calls",
        usage=RequestUsage(prompt_tokens=20, completion_tokens=8),
        cached=False,
    )


async def main() -> None:
    file = OtlpFile("autogen_core")
    trace.set_tracer_provider(file.provider())
    planner = AssistantAgent(
        "planner",
        ReplayChatCompletionClient([shop.ASKED, shop.DONE], model_info=INFO),
        system_message=shop.PLANNER_PROMPT,
    )
    clerk = AssistantAgent(
        "clerk",
        ReplayChatCompletionClient(
            [
                call("call_1", "lookup_order", number="A-17"),
                call("call_2", "check_stock", item="mug"),
                shop.ANSWER,
            ],
            model_info=INFO,
        ),
        tools=[shop.lookup_order, shop.check_stock],
        max_tool_iterations=3,
        system_message=shop.CLERK_PROMPT,
    )
    team = RoundRobinGroupChat(
        [planner, clerk], termination_condition=TextMentionTermination("TERMINATE")
    )
    await team.run(task=shop.TASK)
    file.spans = [span for span in file.spans if span.name.startswith(KEPT)]
    file.write()


if __name__ == "__main__":
    asyncio.run(main())
