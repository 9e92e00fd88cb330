"""Runs that the host lets mastwatch end, or speak in: real LangGraph, all of mastwatch, no mock."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphDrained
from langgraph.graph import START, MessagesState, StateGraph
from prometheus_client import CollectorRegistry

import mastwatch
from apps.langgraph_apps import (
    INPUT,
    ScriptedChat,
    calls,
    looping_supervisor_app,
    supervisor_app,
    tool_agent_app,
)
from mastwatch.events import Event, MessageSent, ModelCalled, RunFinished
from mastwatch.findings import Finding
from mastwatch.sink import Sink

HALT = {"mode": "FM-1.3", "action": "halt", "severity": "warn"}
LOOP = [calls(("lookup", {"city": "Ulm"}))]


class Watched(Sink):
    """What became of the runs."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.findings: list[Finding] = []
        self.events: list[Event] = []

    def on_event(self, event: Event, framework: str) -> None:
        self.events.append(event)

    def on_finding(self, finding: Finding) -> None:
        self.findings.append(finding)

    @property
    def ends(self) -> list[tuple[str, str]]:
        found = [e for e in self.events if isinstance(e, RunFinished) and not e.branch]
        return [(event.outcome, event.reason) for event in found]

    @property
    def last_message(self) -> int:
        return max(e.index for e in self.events if isinstance(e, MessageSent))

    def warned(self) -> Finding:
        return next(f for f in self.findings if f.severity >= mastwatch.Severity.WARN)

    def count(self, action: str, result: str) -> float:
        return sum(
            sample.value
            for family in self.registry.collect()
            for sample in family.samples
            if sample.name == "mastwatch_actions_total"
            and (sample.labels["action"], sample.labels["result"]) == (action, result)
        )

    def halted(self) -> None:
        """The run ended within a message of the finding, and says why."""
        asked = [e for e in self.events if isinstance(e, MessageSent)]
        after = [e for e in asked if e.index > self.warned().message_index]
        assert len(after) <= 1
        assert self.ends[-1] == ("cancelled", "halted by mastwatch: FM-1.3")
        assert self.count("halt", "done") == 1


@contextlib.contextmanager
def acting(*actions: dict[str, Any]) -> Iterator[Watched]:
    seen = Watched()
    with mastwatch.instrument(
        frameworks=["langchain"], registry=seen.registry, actions=list(actions)
    ) as handle:
        handle.add_sink(seen)
        yield seen


def agent(checkpointer: Any = None, replies: Any = None) -> Any:
    graph = tool_agent_app(replies or LOOP, checkpointer=checkpointer)
    return graph.with_config(recursion_limit=60)


@pytest.mark.parametrize("way", ["invoke", "ainvoke", "stream", "astream"])
def test_a_looping_agent_is_drained_and_its_state_is_in_the_checkpoint(way: str) -> None:
    config: Any = {"configurable": {"thread_id": "one"}}
    with acting(HALT) as seen:
        app = agent(InMemorySaver())
        with pytest.raises(GraphDrained) as stopped:
            run(app, way, config)
        seen.halted()
        state = app.get_state(config).values["messages"]
        assert isinstance(state[0], HumanMessage)
        said = [m for m in state if isinstance(m, AIMessage)]
        told = [e for e in seen.events if isinstance(e, MessageSent)]
        assert len(said) == len(told)
        error: Any = stopped.value
        assert error.finding == seen.warned()
        rows = [row.index for row in error.transcript]
        assert rows == sorted(rows)
        assert [row for row in error.transcript if isinstance(row, MessageSent)] == told


def run(app: Any, way: str, config: Any = None) -> Any:
    if way == "invoke":
        return app.invoke(INPUT, config)
    if way == "stream":
        return list(app.stream(INPUT, config))

    async def drive() -> Any:
        if way == "ainvoke":
            return await app.ainvoke(INPUT, config)
        return [part async for part in app.astream(INPUT, config)]

    return asyncio.run(drive())


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
def test_a_looping_supervisor_is_drained_with_the_agents_it_runs(way: str) -> None:
    with acting(HALT) as seen:
        with pytest.raises(GraphDrained):
            run(looping_supervisor_app(60), way)
        seen.halted()


def test_a_drained_run_can_be_resumed() -> None:
    config: Any = {"configurable": {"thread_id": "two"}}
    replies = [*LOOP * 4, "Ulm has 128928 people."]
    with acting(HALT):
        app = agent(InMemorySaver(), replies)
        with pytest.raises(GraphDrained):
            app.invoke(INPUT, config)
    result = app.invoke(None, config)
    assert result["messages"][-1].content == "Ulm has 128928 people."


def model() -> ScriptedChat:
    return ScriptedChat(replies=["I will look the number up in the register of the town again."])


def test_a_plain_loop_gets_our_exception_with_the_transcript() -> None:
    asked = 0

    def loop(question: str) -> str:
        nonlocal asked
        talk: list[Any] = [HumanMessage(question)]
        for _ in range(40):
            asked += 1
            talk.append(model().invoke(talk))
        return "done"

    with acting({**HALT, "mode": "*"}) as seen:
        with pytest.raises(mastwatch.RunHalted) as stopped:
            RunnableLambda(loop).invoke("How many?")
        assert asked < 12
        assert str(stopped.value) == f"halted by mastwatch: {seen.warned().mode}"
        assert len(stopped.value.transcript) == asked - 1
        assert seen.ends == [("cancelled", f"halted by mastwatch: {seen.warned().mode}")]


@pytest.mark.parametrize("stream", [False, True])
def test_a_node_that_loops_by_itself_is_stopped_too(stream: bool) -> None:
    asked = 0

    def node(state: MessagesState) -> dict[str, Any]:
        nonlocal asked
        for _ in range(40):
            asked += 1
            list(model().stream(state["messages"])) if stream else model().invoke(state["messages"])
        return {}

    graph = StateGraph(MessagesState)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    with acting({**HALT, "mode": "*"}) as seen:
        with pytest.raises(mastwatch.RunHalted) as stopped:
            graph.compile().invoke(INPUT)
        assert isinstance(stopped.value, GraphDrained)
        assert asked < 12
        assert seen.ends[-1][0] == "cancelled"


def ask_on_and_on() -> None:
    with mastwatch.run("mine"):
        for _ in range(40):
            model().invoke([HumanMessage("How many?")])


def test_a_run_of_the_hosts_own_around_a_loop_is_halted() -> None:
    with acting({**HALT, "mode": "*"}) as seen:
        with pytest.raises(mastwatch.RunHalted):
            ask_on_and_on()
        assert seen.ends == [("cancelled", f"halted by mastwatch: {seen.warned().mode}")]


def test_healthy_runs_are_left_alone() -> None:
    anything = {"mode": "*", "severity": "suspect"}
    with acting({**anything, "action": "halt"}, {**anything, "action": "nudge"}) as seen:
        supervisor_app().invoke(INPUT)
        tool_agent_app().invoke(INPUT)
        assert {outcome for outcome, _ in seen.ends} == {"completed"}
        assert seen.count("halt", "done") == seen.count("nudge", "done") == 0


def test_a_dry_run_counts_what_a_real_one_does_and_ends_nothing() -> None:
    replies = [*LOOP * 8, "Ulm has 128928 people."]
    with acting(HALT) as real:
        with pytest.raises(GraphDrained):
            agent(replies=replies).invoke(INPUT)
        done = real.count("halt", "done")
    with acting({**HALT, "dry_run": True}) as dry:
        result = agent(replies=replies).invoke(INPUT)
        assert result["messages"][-1].content == "Ulm has 128928 people."
        assert dry.count("halt", "dry_run") == done == 1
        assert dry.ends[-1][0] == "completed"


def listens(messages: list[Any]) -> Any:
    """A model that repeats its call until it is told to stop."""
    if any(message.name == "mastwatch" for message in messages):
        return "The register says 128928, I end here."
    return LOOP[0]


def after_a_nudge(heard: list[Any]) -> Any:
    """A model that remembers by the thread, as those do that have one."""

    def reply(messages: list[Any]) -> Any:
        heard.append([m.content for m in messages if m.name == "mastwatch"])
        return listens(messages)

    return reply


@pytest.mark.parametrize("way", ["invoke", "ainvoke", "stream"])
def test_a_nudge_breaks_a_loop_and_stays_out_of_the_state(way: str) -> None:
    heard: list[Any] = []
    with acting({"mode": "FM-1.3", "action": "nudge", "severity": "warn"}) as seen:
        app = agent(InMemorySaver(), [after_a_nudge(heard)])
        config: Any = {"configurable": {"thread_id": "three"}}
        run(app, way, config)
        state = app.get_state(config).values["messages"]
        assert state[-1].content == "The register says 128928, I end here."
        assert not any(m.name == "mastwatch" for m in state)
        assert [len(said) for said in heard if said] == [1]
        assert seen.count("nudge", "done") == 1
        assert seen.ends == [("completed", "end of graph")]
        assert {f.mode for f in seen.findings} == {"FM-1.3"}
        requests = [e.request for e in seen.events if isinstance(e, ModelCalled) and e.request]
        assert not any(m.name == "mastwatch" for request in requests for m in request)


def test_a_nudge_that_does_not_help_is_followed_by_a_halt() -> None:
    rule = {"mode": "FM-1.3", "action": "nudge", "severity": "warn", "then": "halt"}
    with acting(rule) as seen:
        with pytest.raises(GraphDrained):
            agent().invoke(INPUT)
        assert (seen.count("nudge", "done"), seen.count("halt", "done")) == (1, 1)
        assert seen.ends[-1] == ("cancelled", "halted by mastwatch: FM-1.3")


def test_a_streaming_model_hears_the_nudge() -> None:
    heard: list[Any] = []

    class Streaming(ScriptedChat):
        def _stream(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            from langchain_core.messages import AIMessageChunk
            from langchain_core.outputs import ChatGenerationChunk

            heard.append([m.content for m in messages if m.name == "mastwatch"])
            yield ChatGenerationChunk(message=AIMessageChunk("I will look it up in the register."))

    def node(state: MessagesState) -> dict[str, Any]:
        for _ in range(8):
            list(Streaming(replies=[""]).stream(state["messages"]))
        return {}

    graph = StateGraph(MessagesState)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    with acting({"mode": "*", "action": "nudge", "severity": "warn", "message": "Stop."}) as seen:
        graph.compile().invoke(INPUT)
        assert heard.count(["Stop."]) == seen.count("nudge", "done") == 1


def test_nothing_is_patched_until_the_host_lets_us_act() -> None:
    from langchain_core.language_models import BaseChatModel
    from langgraph.pregel._loop import PregelLoop

    def patched() -> list[bool]:
        names = ("generate", "agenerate", "stream", "astream")
        found = [getattr(BaseChatModel, name) for name in names] + [PregelLoop.__init__]
        return ["__mastwatch_site__" in vars(function) for function in found]

    with mastwatch.instrument(frameworks=["langchain"], metrics="none"):
        tool_agent_app().invoke(INPUT)
        assert not any(patched())
    with acting(HALT):
        tool_agent_app().invoke(INPUT)
        assert all(patched())
    assert not any(patched())


def test_a_langgraph_without_run_control_is_stopped_at_its_next_model_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from langgraph.pregel import _loop

    monkeypatch.setattr(_loop, "PregelLoop", None)
    config: Any = {"configurable": {"thread_id": "old"}}
    with acting(HALT) as seen:
        app = agent(InMemorySaver())
        with pytest.raises(mastwatch.RunHalted) as stopped:
            app.invoke(INPUT, config)
        seen.halted()
        assert stopped.value.finding == seen.warned()
        told = [e for e in seen.events if isinstance(e, MessageSent)]
        said = [m for m in app.get_state(config).values["messages"] if isinstance(m, AIMessage)]
        assert len(said) == len(told)


def test_the_host_halts_a_graph_in_a_callback_of_its_own() -> None:
    seen = Watched()
    with mastwatch.instrument(frameworks=["langchain"], metrics="none") as handle:
        handle.add_sink(seen)
        mastwatch.on_finding(lambda f: f.severity >= 3 and mastwatch.halt(f.run_id, reason="mine"))
        with pytest.raises(GraphDrained):
            agent().invoke(INPUT)
        assert seen.ends == [("cancelled", "halted by the host: mine")]


def test_parallel_workers_end_together() -> None:
    def worker(state: MessagesState) -> dict[str, Any]:
        for _ in range(20):
            model().invoke(state["messages"])
        return {}

    graph = StateGraph(MessagesState)
    for name in ("one", "two", "three"):
        graph.add_node(name, worker)
        graph.add_edge(START, name)
    with acting({**HALT, "mode": "*"}) as seen:
        with pytest.raises(GraphDrained):
            graph.compile().invoke(INPUT)
        assert seen.ends[-1][0] == "cancelled"
        assert len([e for e in seen.events if isinstance(e, MessageSent)]) < 30
