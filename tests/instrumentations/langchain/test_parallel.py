"""Agents side by side: each has a conversation of its own, a branch."""

from __future__ import annotations

import asyncio
from operator import add
from typing import Annotated, Any, TypedDict

from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, Send

from apps import langgraph_apps as apps
from mastwatch.events import MessageSent, RunFinished, RunStarted

INPUT = apps.INPUT


class State(TypedDict):
    messages: Annotated[list[Any], add]
    city: str


def test_fan_out_gives_each_worker_a_branch(seen):
    apps.fan_out_app().invoke({"messages": [HumanMessage("Go.")], "city": ""})
    spoke = [(m.sender, m.branch) for m in seen.watch.of(MessageSent)]
    assert spoke[0] == ("planner", "")
    assert spoke[-1] == ("reducer", "")
    assert sorted(spoke[1:-1]) == [("worker", "1"), ("worker", "2"), ("worker", "3")]
    ended = [e.branch for e in seen.watch.of(RunFinished)]
    assert sorted(ended[:-1]) == ["1", "2", "3"]
    assert ended[-1] == ""
    assert len(seen.carriers()) == 5
    assert len(seen.runs) == 1


def test_fan_out_from_the_start(seen):
    def work(state: State) -> dict[str, Any]:
        model = apps.ScriptedChat(replies=[f"{state['city']}!"])
        return {"messages": [model.invoke(state["city"])]}

    graph = StateGraph(State)
    graph.add_node("worker", work)
    graph.add_conditional_edges(
        START,
        lambda state: [Send("worker", {"city": c, "messages": []}) for c in ("Ulm", "Bonn")],
        ["worker"],
    )
    graph.compile().invoke({"messages": [], "city": ""})
    assert sorted(m.branch for m in seen.watch.of(MessageSent)) == ["1", "2"]


def test_agents_that_parallel_workers_run_have_a_branch_each(seen):
    """Whatever the agents are called: their rows do not mix."""

    def work(state: State) -> dict[str, Any]:
        agent = apps.tool_agent_app(["Found."], name=f"finder of {state['city']}")
        return {"messages": agent.invoke({"messages": [("user", "find")]})["messages"][-1:]}

    graph = StateGraph(State)
    graph.add_node("worker", work)
    graph.add_conditional_edges(
        START,
        lambda state: [Send("worker", {"city": c, "messages": []}) for c in ("Ulm", "Bonn")],
        ["worker"],
    )
    graph.compile().invoke({"messages": [], "city": ""})
    spoke = {m.sender: m.branch for m in seen.watch.of(MessageSent)}
    assert sorted(spoke) == ["finder of Bonn", "finder of Ulm"]
    assert sorted(spoke.values()) == ["1", "2"]


def test_nodes_side_by_side_have_a_branch_each_after_the_first(seen):
    """They cannot hear each other: what one concludes does not end what the others do."""
    graph = StateGraph(MessagesState)
    for name in ("lawyer", "engineer", "chief"):
        model = apps.ScriptedChat(replies=[f"{name} agrees"])
        graph.add_node(name, lambda s, model=model: {"messages": [model.invoke(s["messages"])]})
    for name in ("lawyer", "engineer"):
        graph.add_edge(START, name)
        graph.add_edge(name, "chief")
    graph.compile().invoke(INPUT)
    spoke = {m.sender: m.branch for m in seen.watch.of(MessageSent)}
    assert sorted((spoke["lawyer"], spoke["engineer"])) == ["", "1"]
    assert spoke["chief"] == ""
    assert len(seen.carriers()) == 3


def test_a_node_that_is_retried_is_the_same_node(seen):
    from langgraph.types import RetryPolicy

    model = apps.ScriptedChat(replies=["first try", "second try"])

    def work(state: MessagesState) -> dict[str, Any]:
        answer = model.invoke("work")
        if answer.content == "first try":
            raise ConnectionError("gone")
        return {"messages": [answer]}

    graph = StateGraph(MessagesState)
    policy = RetryPolicy(initial_interval=0.01, jitter=False)
    graph.add_node("worker", work, retry_policy=policy)
    graph.add_edge(START, "worker")
    graph.compile().invoke(INPUT)
    assert [m.branch for m in seen.watch.of(MessageSent)] == ["", ""]
    assert seen.outcomes == [("completed", "end of graph")]


def test_a_single_send_is_no_fan_out(seen):
    """A supervisor that sends one worker again and again stays in the main conversation."""

    def boss(state: State) -> Command[str]:
        said = len(state["messages"])
        return Command(goto=END if said > 2 else [Send("worker", {**state, "messages": []})])

    def work(state: State) -> dict[str, Any]:
        return {"messages": [apps.ScriptedChat(replies=["again"]).invoke("work")]}

    graph = StateGraph(State)
    graph.add_node("boss", boss, destinations=("worker", END))
    graph.add_node("worker", work)
    graph.add_edge(START, "boss")
    graph.add_edge("worker", "boss")
    graph.compile().invoke({"messages": [], "city": ""})
    assert [(m.sender, m.branch) for m in seen.watch.of(MessageSent)] == [("worker", "")] * 3


def test_two_experts_asked_at_once(seen):
    """Agents in parallel tools have a branch each; their rows do not mix."""
    expert = apps.tool_agent_app(
        [lambda messages: f"expert on {messages[-1].content}"], name="expert"
    )

    @tool
    def ask(topic: str) -> str:
        """Ask an expert."""
        return str(expert.invoke({"messages": [("user", topic)]})["messages"][-1].content)

    both = apps.calls(("ask", {"topic": "rain"}), ("ask", {"topic": "snow"}))
    apps.tool_agent_app([both, "Wet."], tools=[ask]).invoke(INPUT)
    said = {m.branch: m.text for m in seen.watch.of(MessageSent) if m.sender == "expert"}
    assert sorted(said) == ["1", "2"]
    tasks = {e.branch: e.task for e in seen.watch.of(RunStarted)}
    assert all(said[branch] == f"expert on {tasks[branch]}" for branch in said)


async def test_parallel_calls_of_one_agent_are_branches(seen):
    """The same agent at work twice at once, without Send: the second gets its own branch."""
    started = asyncio.Event()

    async def reply(first: bool) -> str:
        if first:
            await started.wait()
        else:
            started.set()
        return "ready"

    from langchain_core.runnables import RunnableLambda

    model = apps.ScriptedChat(replies=["a", "b"])

    async def left(state: MessagesState) -> dict[str, Any]:
        answer = await model.ainvoke("left")
        await reply(True)
        return {"messages": [answer]}

    async def right(state: MessagesState) -> dict[str, Any]:
        answer = await model.ainvoke("right")
        await reply(False)
        return {"messages": [answer]}

    graph = StateGraph(MessagesState)
    same = {"metadata": {"lc_agent_name": "twin"}}
    graph.add_node("left", RunnableLambda(left).with_config(**same))
    graph.add_node("right", RunnableLambda(right).with_config(**same))
    graph.add_edge(START, "left")
    graph.add_edge(START, "right")
    await graph.compile().ainvoke(INPUT)
    assert sorted((m.sender, m.branch) for m in seen.watch.of(MessageSent)) == [
        ("twin", ""),
        ("twin", "1"),
    ]
