"""A newsroom of two agents; with ``loop`` the researcher searches for the same thing for ever."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import MaxMessageTermination, TextMentionTermination
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core import FunctionCall
from autogen_core.models import ChatCompletionClient, CreateResult, ModelInfo, RequestUsage


class Canned(ChatCompletionClient):
    """A model that says what it was given; the last line again and again."""

    component_type = "model"

    def __init__(self, *lines: Any) -> None:
        self.lines = list(lines)
        self.calls = 0

    async def create(self, messages: Any, **_: Any) -> CreateResult:
        line = self.lines.pop(0) if len(self.lines) > 1 else self.lines[0]
        self.calls += 1
        if isinstance(line, str):
            return CreateResult(finish_reason="stop", content=line, usage=USAGE, cached=False)
        name, arguments = line
        call = FunctionCall(id=f"call-{self.calls}", name=name, arguments=json.dumps(arguments))
        return CreateResult(
            finish_reason="function_calls", content=[call], usage=USAGE, cached=False
        )

    async def create_stream(
        self, messages: Any, **more: Any
    ) -> AsyncGenerator[str | CreateResult, None]:
        yield await self.create(messages)

    async def close(self) -> None: ...
    def actual_usage(self) -> RequestUsage:
        return USAGE

    def total_usage(self) -> RequestUsage:
        return USAGE

    def count_tokens(self, messages: Any, **_: Any) -> int:
        return 0

    def remaining_tokens(self, messages: Any, **_: Any) -> int:
        return 1000

    @property
    def capabilities(self) -> Any:
        return self.model_info

    @property
    def model_info(self) -> ModelInfo:
        return ModelInfo(
            vision=False,
            function_calling=True,
            json_output=False,
            family="unknown",
            structured_output=False,
        )


USAGE = RequestUsage(prompt_tokens=12, completion_tokens=5)


def search(query: str) -> str:
    """Search the archive."""
    return f"One note about {query}."


async def main(loop: bool) -> None:
    seeks = [("search", {"query": "harbour cranes"})]
    if not loop:
        seeks += [("search", {"query": "harbour tides"}), "The cranes came in 1863."]
    researcher = AssistantAgent(
        "researcher",
        Canned(*seeks),
        tools=[search],
        max_tool_iterations=6,
        reflect_on_tool_use=False,
        system_message="Find out what the editor needs, one search at a time.",
    )
    editor = AssistantAgent(
        "editor",
        Canned("The article about the cranes is ready. PUBLISH"),
        system_message="Write the article, then say PUBLISH.",
    )
    ends = TextMentionTermination("PUBLISH") | MaxMessageTermination(12)
    team = RoundRobinGroupChat([researcher, editor], name="newsroom", termination_condition=ends)
    result = await team.run(task="Write about the history of our harbour.")
    for message in result.messages:
        print(message.source, message.to_text())
    print(result.stop_reason)


if __name__ == "__main__":
    asyncio.run(main(loop="loop" in sys.argv[1:]))
