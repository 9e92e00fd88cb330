"""Teams in teams, teams behind an agent, agents and teams as tools: branches, told once."""

from __future__ import annotations

import asyncio
from typing import Any

from autogen_agentchat.agents import AssistantAgent, SocietyOfMindAgent
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_agentchat.tools import AgentTool, TeamTool

from apps.agentchat_apps import Scripted, call
from mastwatch.events import MessageSent, RunStarted
from mastwatch.testing import Recording


def agent(name: str, *lines: Any, **more: Any) -> AssistantAgent:
    return AssistantAgent(name, Scripted(*lines), **more)


def by_branch(seen: Recording) -> list[tuple[str, str, str | None]]:
    return [(m.branch, m.sender, m.text) for m in seen.of(MessageSent)]


def test_a_team_in_a_team_is_a_branch(seen: Recording) -> None:
    inner = RoundRobinGroupChat([agent("a", "one"), agent("b", "two")], max_turns=2, name="inner")
    outer = RoundRobinGroupChat([inner, agent("c", "three")], max_turns=2, name="outer")
    asyncio.run(outer.run(task="Count."))
    assert by_branch(seen) == [("1", "a", "one"), ("1", "b", "two"), ("", "c", "three")]
    assert [(event.branch, event.name) for event in seen.of(RunStarted)] == [
        ("", "outer"),
        ("1", "inner"),
    ]
    seen.check()


def test_a_society_of_mind_speaks_for_its_team(seen: Recording) -> None:
    async def main() -> None:
        inner = RoundRobinGroupChat(
            [agent("a", "one", "four"), agent("b", "two", "five")], max_turns=2
        )
        mind = SocietyOfMindAgent("mind", inner, Scripted("three", "six"))
        outer = RoundRobinGroupChat([mind, agent("c", "Heard.")], max_turns=3)
        await outer.run(task="Count.")

    asyncio.run(main())
    assert by_branch(seen) == [
        ("1", "a", "one"),
        ("1", "b", "two"),
        ("", "mind", "three"),
        ("", "c", "Heard."),
        ("2", "a", "four"),
        ("2", "b", "five"),
        ("", "mind", "six"),
    ]
    minds = [model for model in seen.models if model.agent == "mind"]
    assert [model.text for model in minds] == ["three", "six"]
    seen.check()


def test_an_agent_as_a_tool_is_a_branch_of_the_call(seen: Recording) -> None:
    writer = agent("writer", "A poem about rain.")
    lines = call("writer", task="Write."), "Here it is."
    editor = agent("editor", *lines, tools=[AgentTool(writer)], reflect_on_tool_use=True)
    asyncio.run(RoundRobinGroupChat([editor], max_turns=1).run(task="A poem, please."))
    assert by_branch(seen) == [
        ("", "editor", ""),
        ("1", "writer", "A poem about rain."),
        ("", "editor", "Here it is."),
    ]
    assert [(event.branch, event.task) for event in seen.of(RunStarted)] == [
        ("", "A poem, please."),
        ("1", "Write."),
    ]
    spans = {span.name: span for span in seen.spans}
    tool, turn = spans["execute_tool writer"], spans["invoke_agent writer"]
    assert turn.parent is not None
    assert tool.context is not None
    assert turn.parent.span_id == tool.context.span_id
    seen.check()


def test_a_team_as_a_tool_is_a_branch_of_the_call(seen: Recording) -> None:
    team = RoundRobinGroupChat([agent("a", "one"), agent("b", "two")], max_turns=2)
    tool = TeamTool(team, "counters", "Count.", return_value_as_last_message=True)
    asyncio.run(agent("boss", call("counters", task="Go."), tools=[tool]).run(task="Count."))
    assert by_branch(seen) == [("", "boss", ""), ("1", "a", "one"), ("1", "b", "two")]
    assert [(name, error) for name, _, error in seen.results] == [("counters", None)]
    seen.check()


def test_an_agent_that_asks_another_one_itself(seen: Recording) -> None:
    class Boss(AssistantAgent):
        async def on_messages_stream(self, messages: Any, cancellation_token: Any) -> Any:
            reply = await helper.on_messages(messages, cancellation_token)
            told = [*messages, reply.chat_message]
            async for item in super().on_messages_stream(told, cancellation_token):
                yield item

    helper = agent("helper", "A hint.")
    boss = Boss("boss", Scripted("The answer."))
    asyncio.run(RoundRobinGroupChat([boss], max_turns=1).run(task="Well?"))
    assert by_branch(seen) == [("", "helper", "A hint."), ("", "boss", "The answer.")]
    seen.check()


def test_tools_that_an_agent_of_the_apps_own_runs(seen: Recording) -> None:
    from autogen_core import CancellationToken
    from autogen_core.tools import FunctionTool

    def double(number: int) -> int:
        """Twice a number."""
        return 2 * number

    tool = FunctionTool(double, "Twice a number.")

    class Calculator(AssistantAgent):
        async def on_messages_stream(self, messages: Any, cancellation_token: Any) -> Any:
            await tool.run_json({"number": 4}, CancellationToken())
            async for item in super().on_messages_stream(messages, cancellation_token):
                yield item

    asyncio.run(Calculator("calc", Scripted("8.")).run(task="Twice 4?"))
    assert seen.tools == [("calc", "double", {"number": 4})]
    assert seen.results == [("double", "8", None)]
    seen.check()
