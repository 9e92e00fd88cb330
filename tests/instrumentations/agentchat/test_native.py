"""AutoGen's own spans and those of OpenInference: a turn and a tool call have one span each."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from typing import Any

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.messages import TextMessage
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_agentchat.tools import AgentTool
from autogen_core import CancellationToken, SingleThreadedAgentRuntime
from autogen_core.tools import TextResultContent, ToolResult, Workbench
from opentelemetry import trace

from apps.agentchat_apps import Scripted, call
from mastwatch.events import MessageSent, RunStarted
from mastwatch.testing import Recording
from mastwatch_instrumentations.agentchat import AgentChatInstrumentor

INDEX = "mastwatch.message.index"
RUN = "mastwatch.run.id"


def weather(city: str) -> str:
    """The weather of a city."""
    return f"Rain in {city}"


def agent(name: str, *lines: Any, **more: Any) -> AssistantAgent:
    return AssistantAgent(name, Scripted(*lines), **more)


def team(**more: Any) -> RoundRobinGroupChat:
    alice = agent(
        "alice", call("weather", city="Kiel"), "Wet.", tools=[weather], max_tool_iterations=2
    )
    return RoundRobinGroupChat([alice, agent("bob", "Noted.")], max_turns=2, **more)


def counts(seen: Recording) -> dict[tuple[str, str], int]:
    """How many spans of each name and scope, the runtime's and those of creation left out."""
    return Counter(
        (span.name, span.instrumentation_scope.name)
        for span in seen.spans
        if span.instrumentation_scope is not None
        and not span.instrumentation_scope.name.startswith("autogen Single")
        and not span.name.startswith("create_agent")
    )


def carriers(seen: Recording) -> list[tuple[object, str]]:
    found = [span for span in seen.spans if INDEX in (span.attributes or {})]
    return sorted(((span.attributes or {})[INDEX], span.name) for span in found)


def test_turns_and_tools_are_written_on_autogens_spans(traced: Recording) -> None:
    asyncio.run(team().run(task="Weather?"))
    assert counts(traced) == {
        ("invoke_workflow RoundRobinGroupChat", "mastwatch"): 1,
        ("invoke_agent alice", "autogen-core"): 1,
        ("invoke_agent bob", "autogen-core"): 1,
        ("execute_tool weather", "autogen-core"): 1,
        ("chat scripted-1", "mastwatch"): 3,
    }
    assert carriers(traced) == [
        (0, "chat scripted-1"),
        (2, "invoke_agent alice"),
        (3, "invoke_agent bob"),
    ]
    (tool,) = [span for span in traced.spans if span.name == "execute_tool weather"]
    about = dict(tool.attributes or {})
    assert about["gen_ai.agent.name"] == "alice"
    assert about[RUN] == traced.of(RunStarted)[0].run_id
    spans = {span.context.span_id: span for span in traced.spans if span.context}
    assert tool.parent is not None
    assert spans[tool.parent.span_id].name == "invoke_agent alice"


def test_without_a_provider_the_spans_are_ours(seen: Recording) -> None:
    asyncio.run(team().run(task="Weather?"))
    assert {scope for _, scope in counts(seen)} == {"mastwatch"}
    assert sum(counts(seen).values()) == 7
    seen.check()


def test_what_autogen_has_no_span_for_gets_ours(traced: Recording) -> None:
    class Desk(Workbench):
        """A workbench of another kind, as that for MCP is."""

        component_type = "workbench"

        async def list_tools(self) -> Any:
            return [{"name": "stamp"}]

        async def call_tool(self, name: str, *_: Any, **__: Any) -> ToolResult:
            return ToolResult(name=name, result=[TextResultContent(content="stamped")])

        async def start(self) -> None: ...
        async def stop(self) -> None: ...
        async def reset(self) -> None: ...
        async def save_state(self) -> Any: ...
        async def load_state(self, state: Any) -> None: ...

    calls = [call("stamp", "1"), call("nowhere", "2")]
    asyncio.run(agent("clerk", calls, workbench=Desk()).run(task="Stamp it."))
    assert counts(traced)["execute_tool stamp", "mastwatch"] == 1
    assert counts(traced)["execute_tool nowhere", "mastwatch"] == 1
    assert counts(traced)["invoke_agent clerk", "autogen-core"] == 1
    assert sorted(traced.results, key=str) == [
        ("nowhere", "Error: tool 'nowhere' not found in any workbench", "ToolNotFound"),
        ("stamp", "stamped", None),
    ]


def test_an_agent_asked_directly(traced: Recording) -> None:
    alice = agent("alice", call("weather", city="Kiel"), tools=[weather])
    told = [TextMessage(content="Weather?", source="user")]
    asyncio.run(alice.on_messages(told, CancellationToken()))
    assert counts(traced) == {
        ("invoke_workflow alice", "mastwatch"): 1,
        ("invoke_agent alice", "mastwatch"): 1,
        ("execute_tool weather", "autogen-core"): 1,
        ("chat scripted-1", "mastwatch"): 1,
    }


def test_an_agent_streamed_on_its_own(traced: Recording) -> None:
    async def main() -> None:
        alice = agent("alice", call("weather", city="Kiel"), tools=[weather])
        async for _ in alice.run_stream(task="Weather?"):
            assert not trace.get_current_span().get_span_context().is_valid

    asyncio.run(main())
    assert counts(traced)["invoke_agent alice", "autogen-core"] == 1
    assert counts(traced)["execute_tool weather", "autogen-core"] == 1
    assert not trace.get_current_span().get_span_context().is_valid


def test_an_agent_as_a_tool_lies_below_the_call(traced: Recording) -> None:
    writer = AgentTool(agent("writer", "A poem."))
    asyncio.run(agent("editor", call("writer", task="Write."), tools=[writer]).run(task="Poem?"))
    spans = {span.context.span_id: span for span in traced.spans if span.context}
    (turn,) = [span for span in traced.spans if span.name == "invoke_agent writer"]
    assert turn.parent is not None
    assert spans[turn.parent.span_id].name == "execute_tool writer"
    assert (turn.attributes or {})[INDEX] == 1


def test_a_runtime_of_the_apps_own_stays_in_the_runs_trace(traced: Recording) -> None:
    async def main() -> None:
        runtime = SingleThreadedAgentRuntime()
        runtime.start()
        await team(runtime=runtime).run(task="Weather?")
        await runtime.stop()

    asyncio.run(main())
    mine = [span for span in traced.spans if RUN in (span.attributes or {})]
    assert len(mine) == 7
    assert len({span.context.trace_id for span in mine if span.context}) == 1


def test_content_stays_off_autogens_spans_unless_asked_for(traced: Recording) -> None:
    asyncio.run(team().run(task="Weather in the far north?"))
    ours = [dict(span.attributes or {}) for span in traced.spans if RUN in (span.attributes or {})]
    assert "Kiel" not in str(ours)
    assert "Noted." not in str(ours)


def test_content_on_autogens_spans_where_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    recording = Recording(capture_content=True)
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", recording.provider)
    instrumentor = AgentChatInstrumentor()
    instrumentor.install(recording.emitter)
    try:
        asyncio.run(team().run(task="Weather?"))
    finally:
        instrumentor.uninstall()
    about = {span.name: dict(span.attributes or {}) for span in recording.spans}
    assert "Kiel" in str(about["execute_tool weather"])
    assert "Noted." in str(about["invoke_agent bob"])


@pytest.mark.parametrize("ours_first", [True, False])
def test_next_to_openinference_only_events_flow(
    monkeypatch: pytest.MonkeyPatch, ours_first: bool
) -> None:
    module = pytest.importorskip("openinference.instrumentation.autogen_agentchat")
    recording = Recording()
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", recording.provider)
    ours, theirs = AgentChatInstrumentor(), module.AutogenAgentChatInstrumentor()
    with contextlib.ExitStack() as undo:
        if ours_first:
            ours.install(recording.emitter)
            undo.callback(ours.uninstall)
        theirs.instrument(tracer_provider=recording.provider)
        undo.callback(theirs.uninstrument)
        if not ours_first:
            ours.install(recording.emitter)
            undo.callback(ours.uninstall)
        asyncio.run(team().run(task="Weather?"))
    assert recording.said == [("alice", ""), ("alice", "Wet."), ("bob", "Noted.")]
    assert recording.tools == [("alice", "weather", {"city": "Kiel"})]
    assert {
        span.name.split()[0]
        for span in recording.spans
        if span.instrumentation_scope and span.instrumentation_scope.name == "mastwatch"
    } <= {"agent_message"}
    assert [index for index, _ in carriers(recording)] == [
        m.index for m in recording.of(MessageSent)
    ]
