"""One utterance, one span, for every kind of team."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from autogen_agentchat.agents import (
    AssistantAgent,
    BaseChatAgent,
    CodeExecutorAgent,
    MessageFilterAgent,
    MessageFilterConfig,
    PerSourceFilter,
    UserProxyAgent,
)
from autogen_agentchat.base import Response
from autogen_agentchat.conditions import (
    HandoffTermination,
    MaxMessageTermination,
    TextMentionTermination,
)
from autogen_agentchat.messages import (
    HandoffMessage,
    MultiModalMessage,
    StructuredMessage,
    TextMessage,
)
from autogen_agentchat.teams import (
    DiGraphBuilder,
    GraphFlow,
    MagenticOneGroupChat,
    RoundRobinGroupChat,
    SelectorGroupChat,
    Swarm,
)
from autogen_core import Image, SingleThreadedAgentRuntime
from autogen_core.code_executor import CodeExecutor, CodeResult
from autogen_core.memory import ListMemory, MemoryContent
from autogen_core.models import CreateResult, RequestUsage
from PIL import Image as Picture
from pydantic import BaseModel

from apps.agentchat_apps import Scripted, call, ledger
from mastwatch.events import (
    HandedOff,
    HistoryCleared,
    HumanAsked,
    MessageSent,
    RunStarted,
    ToolCalled,
)
from mastwatch.testing import Recording


def weather(city: str) -> str:
    """The weather of a city."""
    return f"Rain in {city}"


def agent(name: str, *lines: Any, **more: Any) -> AssistantAgent:
    return AssistantAgent(name, Scripted(*lines), **more)


def test_round_robin(seen: Recording) -> None:
    alice = agent(
        "alice",
        call("weather", city="Kiel"),
        "It rains.",
        tools=[weather],
        reflect_on_tool_use=True,
    )
    bob = agent("bob", "Noted. TERMINATE")
    team = RoundRobinGroupChat(
        [alice, bob], termination_condition=TextMentionTermination("TERMINATE")
    )
    asyncio.run(team.run(task="How is the weather?"))
    assert seen.said == [("alice", ""), ("alice", "It rains."), ("bob", "Noted. TERMINATE")]
    assert seen.tools == [("alice", "weather", {"city": "Kiel"})]
    assert seen.results == [("weather", "Rain in Kiel", None)]
    assert seen.ends == [("completed", "Text 'TERMINATE' mentioned")]
    (started,) = seen.of(RunStarted)
    assert started.task == "How is the weather?"
    assert started.contract.tokens == ("TERMINATE",)
    assert set(started.prompts) == {"alice", "bob"}
    assert [message.recipients for message in seen.of(MessageSent)] == [(), ("bob",), ("alice",)]
    names = [span.name for span in seen.spans]
    assert names == [
        "invoke_workflow RoundRobinGroupChat",
        "invoke_agent alice",
        "chat scripted-1",
        "execute_tool weather",
        "chat scripted-1",
        "invoke_agent bob",
        "chat scripted-1",
    ]
    seen.check()


def test_model_calls_show_request_and_tokens(seen: Recording) -> None:
    team = RoundRobinGroupChat([agent("alice", "One."), agent("bob", "Two.")], max_turns=2)
    asyncio.run(team.run(task="Count."))
    first, second = seen.models
    assert [(m.role, m.content, m.name) for m in second.request or ()][1:] == [
        ("user", "Count.", "user"),
        ("user", "One.", "alice"),
    ]
    assert (first.agent, first.text, first.model) == ("alice", "One.", "scripted-1")
    assert (first.input_tokens, first.output_tokens) == (7, 3)
    seen.check()


def test_a_summary_of_tool_results_is_no_utterance(seen: Recording) -> None:
    alice = agent("alice", call("weather", city="Kiel"), tools=[weather])
    team = RoundRobinGroupChat([alice, agent("bob", "Wet.")], max_turns=2)
    asyncio.run(team.run(task="Weather?"))
    assert seen.said == [("alice", ""), ("bob", "Wet.")]
    seen.check()


def test_selection_by_model_is_a_model_call_and_no_utterance(seen: Recording) -> None:
    team = SelectorGroupChat(
        [agent("alice", "I plan."), agent("bob", "I do. DONE"), agent("carol")],
        Scripted("alice", "bob", model="chooser"),
        termination_condition=TextMentionTermination("DONE"),
        emit_team_events=True,
    )
    asyncio.run(team.run(task="Work."))
    assert seen.said == [("alice", "I plan."), ("bob", "I do. DONE")]
    assert [(m.agent, m.model) for m in seen.models] == [
        ("SelectorGroupChatManager", "chooser"),
        ("alice", "scripted-1"),
        ("SelectorGroupChatManager", "chooser"),
        ("bob", "scripted-1"),
    ]
    seen.check()


def test_swarm_hands_over(seen: Recording) -> None:
    triage = agent("triage", call("transfer_to_clerk"), handoffs=["clerk"])
    clerk = agent("clerk", "Done. TERMINATE")
    team = Swarm([triage, clerk], termination_condition=TextMentionTermination("TERMINATE"))
    asyncio.run(team.run(task="Refund me."))
    assert seen.said == [("triage", ""), ("clerk", "Done. TERMINATE")]
    assert [(e.source, e.target) for e in seen.of(HandedOff)] == [("triage", "clerk")]
    assert seen.tools == [("triage", "transfer_to_clerk", {})]
    seen.check()


def magentic(*lines: str, stalls: int = 3) -> MagenticOneGroupChat:
    worker = agent("worker", "It is open.", "It is open until six.", "Until six, I said.")
    return MagenticOneGroupChat([worker], Scripted(*lines), max_stalls=stalls)


def test_magentic_one_publishes_plan_instruction_and_answer(seen: Recording) -> None:
    team = magentic(
        "The shop has hours.",
        "Ask the worker.",
        ledger(False, True),
        ledger(True, True),
        "The shop is open.",
    )
    asyncio.run(team.run(task="Is the shop open?"))
    manager = "MagenticOneOrchestrator"
    plan, *rest = seen.of(MessageSent)
    assert (plan.sender, plan.kind) == (manager, "opener")
    assert [(m.sender, m.text) for m in rest] == [
        (manager, "Look it up."),
        ("worker", "It is open."),
        (manager, "The shop is open."),
    ]
    assert [m.agent for m in seen.models] == [manager] * 3 + ["worker"] + [manager] * 2
    assert seen.ends == [("completed", "ended by its manager")]
    seen.check()


def test_a_new_plan_of_magentic_one_is_told_and_clears_no_history(seen: Recording) -> None:
    team = magentic(
        "The shop has hours.",
        "Ask the worker.",
        ledger(False, True),
        ledger(False, False),
        "It also has a door.",
        "Ask again.",
        ledger(False, True),
        ledger(True, True),
        "The shop is open.",
        stalls=1,
    )
    asyncio.run(team.run(task="Is the shop open?"))
    plans = [m for m in seen.of(MessageSent) if "Is the shop open?" in (m.text or "")]
    assert [m.kind for m in plans] == ["opener", "opener"]
    assert seen.of(HistoryCleared) == []
    mine = [m.request for m in seen.models if m.agent == "worker"]
    assert mine[0]
    assert mine[1] == (), "a memory that the manager emptied by design is not compared"
    seen.check()


def test_graph_flow(seen: Recording) -> None:
    a, b, c = agent("a", "first"), agent("b", "left"), agent("c", "right")
    builder = DiGraphBuilder()
    builder.add_node(a).add_node(b).add_node(c)
    builder.add_edge(a, b).add_edge(a, c)
    team = GraphFlow([a, b, c], builder.build())
    asyncio.run(team.run(task="Split up."))
    assert sorted(seen.said) == [("a", "first"), ("b", "left"), ("c", "right")]
    assert [outcome for outcome, _ in seen.ends] == ["completed"]
    seen.check()


def test_people_are_asked_and_answer(seen: Recording) -> None:
    person = UserProxyAgent("person", input_func=lambda prompt: "Go on, please.")
    team = RoundRobinGroupChat([agent("alice", "May I?"), person], max_turns=2)
    asyncio.run(team.run(task="Work."))
    assert seen.said == [("alice", "May I?"), ("person", "Go on, please.")]
    assert [m.kind for m in seen.of(MessageSent)] == ["reply", "human"]
    assert [event.agent for event in seen.of(HumanAsked)] == ["person"]
    seen.check()


def test_an_agent_on_its_own_runs_and_streams(seen: Recording) -> None:
    async def main() -> None:
        lines = call("weather", city="Kiel"), "Rain."
        await agent("one", *lines, tools=[weather], reflect_on_tool_use=True).run(task="Look.")
        two = agent("two", "Word by word.", model_client_stream=True)
        assert [item async for item in two.run_stream(task="Stream.")]

    asyncio.run(main())
    assert seen.said == [("one", ""), ("one", "Rain."), ("two", "Word by word.")]
    assert [event.task for event in seen.of(RunStarted)] == ["Look.", "Stream."]
    assert [outcome for outcome, _ in seen.ends] == ["completed"] * 2
    seen.check()


def test_messages_put_to_an_agent_directly_are_a_run(seen: Recording) -> None:
    async def main() -> None:
        from autogen_core import CancellationToken

        told = [TextMessage(content="Hello there.", source="user")]
        reply = await agent("alice", "Hello.").on_messages(told, CancellationToken())
        assert isinstance(reply, Response)

    asyncio.run(main())
    assert seen.said == [("alice", "Hello.")]
    assert seen.of(RunStarted)[0].task == "Hello there."
    seen.check()


def test_tools_that_fail_or_do_not_exist(seen: Recording) -> None:
    def broken(city: str) -> str:
        """Never works."""
        raise KeyError(city)

    calls = [
        call("broken", "1", city="Kiel"),
        call("nowhere", "2"),
        call("broken", "3", town="Kiel"),
    ]
    alice = agent("alice", calls, tools=[broken])
    asyncio.run(alice.run(task="Try."))
    errors = {event.call_id: event.name for event in seen.of(ToolCalled)}
    assert errors == {"1": "broken", "2": "nowhere", "3": "broken"}
    assert sorted(error or "" for _, _, error in seen.results) == [
        "KeyError",
        "ToolNotFound",
        "pydantic_core._pydantic_core.ValidationError",
    ]
    seen.check()


def test_several_tool_rounds_in_one_turn(seen: Recording) -> None:
    rounds = [
        call("weather", "1", city="Kiel"),
        call("weather", "2", city="Bonn"),
        "Rain all over.",
    ]
    alice = agent("alice", *rounds, tools=[weather], max_tool_iterations=5)
    asyncio.run(alice.run(task="Both."))
    assert seen.said == [("alice", ""), ("alice", ""), ("alice", "Rain all over.")]
    assert [arguments for _, _, arguments in seen.tools] == [{"city": "Kiel"}, {"city": "Bonn"}]
    assert {model.turn for model in seen.models} == {seen.models[0].turn}
    seen.check()


def test_thoughts_memories_and_pictures(seen: Recording) -> None:
    async def main() -> None:
        memory = ListMemory()
        await memory.add(MemoryContent(content="likes rain", mime_type="text/plain"))
        thinking = CreateResult(
            finish_reason="stop",
            content="Take a coat.",
            usage=RequestUsage(prompt_tokens=1, completion_tokens=1),
            cached=False,
            thought="secret thought",
        )
        alice = agent("alice", thinking, memory=[memory])
        picture = Image(Picture.new("RGB", (2, 2)))
        task = MultiModalMessage(content=["What is this?", picture], source="user")
        await alice.run(task=task)

    asyncio.run(main())
    assert seen.said == [("alice", "Take a coat.")]
    assert seen.of(RunStarted)[0].task == "What is this? [image]"
    seen.check()


class Forecast(BaseModel):
    sky: str


def test_structured_messages(seen: Recording) -> None:
    alice = agent("alice", '{"sky":"grey"}', output_content_type=Forecast)
    team = RoundRobinGroupChat(
        [alice, agent("bob", "Grey, then.")],
        max_turns=2,
        custom_message_types=[StructuredMessage[Forecast]],
    )
    asyncio.run(team.run(task="Sky?"))
    assert seen.said == [("alice", '{"sky":"grey"}'), ("bob", "Grey, then.")]
    seen.check()


class Parrot(BaseChatAgent):
    """An agent of the app's own: no model, no stream, hands over in its own words."""

    produced_message_types = (TextMessage, HandoffMessage)

    async def on_messages(self, messages: Any, cancellation_token: Any) -> Response:
        text = f"{messages[-1].to_model_text()}, says {self.name}"
        if self.name == "first":
            return Response(
                chat_message=HandoffMessage(content=text, source=self.name, target="second")
            )
        return Response(chat_message=TextMessage(content=text, source=self.name))

    async def on_reset(self, cancellation_token: Any) -> None: ...


def test_agents_of_the_apps_own(seen: Recording) -> None:
    team = Swarm([Parrot("first", ""), Parrot("second", "")], max_turns=2)
    asyncio.run(team.run(task="Hi"))
    assert seen.said == [
        ("first", "Hi, says first"),
        ("second", "Hi, says first, says second"),
    ]
    assert [(e.source, e.target) for e in seen.of(HandedOff)] == [("first", "second")]
    seen.check()


def test_a_filter_around_an_agent_speaks_once(seen: Recording) -> None:
    inner = agent("inner", "Filtered words.")
    only = MessageFilterConfig(
        per_source=[PerSourceFilter(source="user", position="last", count=1)]
    )
    outer = MessageFilterAgent("outer", inner, only)
    team = RoundRobinGroupChat([outer, agent("bob", "Heard.")], max_turns=2)
    asyncio.run(team.run(task="Say it."))
    assert seen.said == [("inner", "Filtered words."), ("bob", "Heard.")]
    seen.check()


class Machine(CodeExecutor):
    """Stands in for an executor of code: no process is started."""

    component_type = "code_executor"

    async def execute_code_blocks(self, blocks: Any, cancellation_token: Any) -> CodeResult:
        return CodeResult(exit_code=0, output="42\n")

    async def start(self) -> None: ...
    async def stop(self) -> None: ...
    async def restart(self) -> None: ...


@pytest.mark.filterwarnings("ignore:No approval function")
def test_code_and_its_output(seen: Recording) -> None:
    code = "```python\nprint(42)\n```"
    writer = agent("writer", code)
    team = RoundRobinGroupChat([writer, CodeExecutorAgent("runner", Machine())], max_turns=2)
    asyncio.run(team.run(task="Compute."))
    kinds = [(m.sender, m.kind, m.text) for m in seen.of(MessageSent)]
    assert kinds == [("writer", "reply", code), ("runner", "code", "42\n")]
    seen.check()


def test_a_runtime_of_the_apps_own(seen: Recording) -> None:
    """It has started before the run, in a context that knows nothing of it."""

    async def main() -> None:
        runtime = SingleThreadedAgentRuntime()
        runtime.start()
        alice = agent("alice", call("weather", city="Kiel"), tools=[weather])
        team = RoundRobinGroupChat([alice, agent("bob", "Wet.")], max_turns=2, runtime=runtime)
        other = RoundRobinGroupChat([agent("carol", "Dry.")], max_turns=1, runtime=runtime)
        await asyncio.gather(team.run(task="Weather?"), other.run(task="Elsewhere?"))
        await runtime.stop()

    asyncio.run(main())
    assert sorted(seen.said) == [("alice", ""), ("bob", "Wet."), ("carol", "Dry.")]
    by_run = {event.run_id: event.task for event in seen.of(RunStarted)}
    carol = next(m for m in seen.of(MessageSent) if m.sender == "carol")
    assert by_run[carol.run_id] == "Elsewhere?"
    seen.check()


def test_limits_of_messages(seen: Recording) -> None:
    team = RoundRobinGroupChat(
        [agent("a", "1", "2"), agent("b", "3")], termination_condition=MaxMessageTermination(3)
    )
    asyncio.run(team.run(task="Count."))
    assert seen.ends[0][0] == "limit"
    assert seen.of(RunStarted)[0].contract.max_messages == 2
    seen.check()


def test_handing_over_to_a_person_pauses(seen: Recording) -> None:
    async def main() -> None:
        calls = call("transfer_to_user"), "Booked. TERMINATE"
        clerk = agent("clerk", *calls, handoffs=["user"])
        ends = HandoffTermination("user") | TextMentionTermination("TERMINATE")
        team = RoundRobinGroupChat([clerk], termination_condition=ends)
        await team.run(task="Book a flight.")
        await team.run(task="Window seat.")

    asyncio.run(main())
    first, second = seen.of(RunStarted)
    assert first.run_id == second.run_id
    assert (first.resumed, second.resumed) == (False, True)
    assert [outcome for outcome, _ in seen.ends] == ["paused", "completed"]
    assert seen.said == [("clerk", ""), ("clerk", "Booked. TERMINATE")]
