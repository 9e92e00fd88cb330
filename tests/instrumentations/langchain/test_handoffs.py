"""Who gives the word to whom, who an utterance is addressed to, and the word that goes round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command

from apps import langgraph_apps as apps
from mastwatch.events import HandedOff, MessageSent, ToolCalled

INPUT = apps.INPUT

Node = Callable[[MessagesState], Any]


def _speaks(*replies: str, goto: str | None = None) -> Node:
    """Make a node that asks a model and goes on where its answer or ``goto`` says."""
    model = apps.ScriptedChat(replies=list(replies))

    def node(state: MessagesState) -> Command[str]:
        reply = model.invoke(state["messages"])
        target = goto or str(reply.content)
        return Command(goto=END if target == "end" else target, update={"messages": [reply]})

    return node


def _graph(**nodes: Any) -> Any:
    graph = StateGraph(MessagesState)
    for name, node in nodes.items():
        graph.add_node(name, node, destinations=(*nodes, END))
    graph.add_edge(START, next(iter(nodes)))
    return graph.compile()


def _recipients(seen: Any) -> list[tuple[str, tuple[str, ...]]]:
    return [(m.sender, m.recipients) for m in seen.watch.of(MessageSent)]


def _handed(seen: Any) -> list[tuple[str, str]]:
    return [(e.source, e.target) for e in seen.watch.of(HandedOff)]


def test_a_supervisor_does_not_answer_its_worker(seen):
    """A worker answers who sent for it; getting the word back is no request."""
    _graph(
        boss=_speaks("coder", "tester", "end"),
        coder=_speaks("It is written.", goto="boss"),
        tester=_speaks("It is tested.", goto="boss"),
    ).invoke(INPUT)
    assert _recipients(seen) == [
        ("boss", ()),
        ("coder", ("boss",)),
        ("boss", ()),
        ("tester", ("boss",)),
        ("boss", ()),
    ]
    assert _handed(seen) == [
        ("boss", "coder"),
        ("coder", "boss"),
        ("boss", "tester"),
        ("tester", "boss"),
    ]


def test_nodes_that_never_speak_are_handed_nothing(seen):
    """Checking and saving are no agents, wherever the commands lead."""
    checks = iter(("writer", "save"))
    _graph(
        writer=_speaks("First draft.", "Second draft.", goto="check"),
        check=lambda state: Command(goto=next(checks)),
        save=lambda state: Command(goto=END),
    ).invoke(INPUT)
    assert [row[1] for row in seen.said()] == ["writer", "writer"]
    assert _handed(seen) == []
    assert {recipients for _, recipients in _recipients(seen)} == {()}


def test_a_team_inside_a_node_is_handed_the_word_by_its_first_speaker(seen):
    inner = _graph(lead=_speaks("end"))
    _graph(boss=_speaks("team", "end"), team=inner).invoke(INPUT)
    assert _handed(seen) == [("boss", "lead")]


def test_a_wrapped_agent_hands_back_in_its_own_name(seen):
    agent = apps.tool_agent_app(["The answer."], name="expert")

    def ask(state: MessagesState) -> Command[str]:
        return Command(goto="boss", update={"messages": agent.invoke(state)["messages"][-1:]})

    _graph(boss=_speaks("desk", "end"), desk=ask).invoke(INPUT)
    assert _handed(seen) == [("boss", "expert"), ("expert", "boss")]
    assert _recipients(seen)[1] == ("expert", ("boss",))


def test_the_word_that_only_goes_round_is_no_routine(seen):
    """Two agents that send the user to and fro: from the second round on the calls count."""
    swarm = StateGraph(MessagesState)
    for name, other in (("alice", "bob"), ("bob", "alice")):
        agent = apps.tool_agent_app(
            [apps.calls((f"transfer_to_{other}", {}))], tools=[apps.handoff_tool(other)], name=name
        )
        swarm.add_node(name, agent, destinations=(other,))
    swarm.add_edge(START, "alice")
    with pytest.raises(RecursionError):
        swarm.compile().invoke(INPUT, {"recursion_limit": 6})
    assert [(e.name, e.poll) for e in seen.watch.of(ToolCalled)] == [
        ("transfer_to_bob", True),
        ("transfer_to_alice", True),
        ("transfer_to_bob", False),
        ("transfer_to_alice", False),
        ("transfer_to_bob", False),
        ("transfer_to_alice", False),
    ]


def test_workers_that_write_no_message_make_handing_over_routine(seen):
    """What a function node does may not show in the messages; it is work all the same."""
    supervisor = apps.tool_agent_app(
        [*([apps.calls(("transfer_to_crunch", {}))] * 3), "Done."],
        tools=[apps.handoff_tool("crunch")],
        name="supervisor",
    )
    graph = StateGraph(MessagesState)
    graph.add_node("supervisor", supervisor, destinations=("crunch", END))
    graph.add_node("crunch", lambda state: {"messages": []})
    graph.add_edge(START, "supervisor")
    graph.add_edge("crunch", "supervisor")
    graph.compile().invoke(INPUT)
    assert [e.poll for e in seen.watch.of(ToolCalled)] == [True, True, True]
