"""Runs that wait for a person, and go on."""

from __future__ import annotations

from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from apps import langgraph_apps as apps
from mastwatch.events import HumanReplied, ModelCalled, RunStarted, ToolCalled, ToolReturned

INPUT = apps.INPUT


def test_interrupt_and_resume_is_one_run(seen):
    """The same run goes on: same id, rows counted on, a person's answer, no repetition."""
    app, config = apps.interrupt_app(), {"configurable": {"thread_id": "t-1"}}
    app.invoke(INPUT, config)
    assert seen.outcomes == [("paused", "interrupt")]
    assert seen.open == 0
    app.invoke(Command(resume="yes"), config)
    assert seen.outcomes == [("paused", "interrupt"), ("completed", "end of graph")]
    assert len(seen.runs) == 1
    assert [e.resumed for e in seen.watch.of(RunStarted)] == [False, True]
    assert [(e.agent, e.text) for e in seen.watch.of(HumanReplied)] == [("approve", "yes")]
    assert seen.said() == [(0, "drafter", "Draft: Ulm is old."), (1, "publisher", "Published.")]
    assert not [span for span in seen.spans if not span.status.is_ok]


def test_a_graph_inside_a_chain_pauses_too(seen):
    from langchain_core.runnables import RunnableLambda

    app = RunnableLambda(lambda given: given) | apps.interrupt_app()
    config = {"configurable": {"thread_id": "t-1"}}
    app.invoke(INPUT, config)
    app.invoke(Command(resume="yes"), config)
    assert [outcome for outcome, _ in seen.outcomes] == ["paused", "completed"]
    assert len(seen.runs) == 1
    assert [row[0] for row in seen.said()] == [0, 1]


def test_a_tool_that_waits_for_a_person_is_called_once(seen):
    app, config = apps.approval_app(), {"configurable": {"thread_id": "t-1"}}
    app.invoke(INPUT, config)
    app.invoke(Command(resume="go"), config)
    assert [e.name for e in seen.watch.of(ToolCalled)] == ["publish"]
    (returned,) = seen.watch.of(ToolReturned)
    assert returned.result == "published after: go"
    assert returned.call_id == seen.watch.of(ToolCalled)[0].call_id
    assert [row[0] for row in seen.said()] == [0, 2]
    assert [outcome for outcome, _ in seen.outcomes] == ["paused", "completed"]


def test_calls_asked_before_a_pause_keep_their_row(seen):
    """Approved calls run after the resume; they were asked for in row 0, in an agent's turn."""
    app, config = apps.approved_app(), {"configurable": {"thread_id": "t-1"}}
    app.invoke(INPUT, config)
    app.invoke(Command(resume={"decisions": [{"type": "approve"}] * 2}), config)
    assert sorted((e.name, e.index, e.agent) for e in seen.watch.of(ToolCalled)) == [
        ("count_words", 0, "assistant"),
        ("lookup", 0, "assistant"),
    ]
    assert [row[0] for row in seen.said()] == [0, 3]
    assert sorted(seen.tree()[3:]) == [
        "      chat scripted",
        "      execute_tool count_words",
        "      execute_tool lookup",
        "    invoke_agent assistant",
        "  invoke_workflow assistant",
    ]


def test_a_call_that_a_person_rejects_has_a_result(seen):
    """The rejection is what the agent gets to read, and a row like any result."""
    app, config = apps.approved_app(), {"configurable": {"thread_id": "t-1"}}
    app.invoke(INPUT, config)
    decisions = [{"type": "reject", "message": "no"}, {"type": "approve"}]
    app.invoke(Command(resume={"decisions": decisions}), config)
    returned = {e.name: (e.agent, e.error) for e in seen.watch.of(ToolReturned)}
    assert returned == {
        "lookup": ("assistant", "ToolException"),
        "count_words": ("assistant", None),
    }
    assert len(seen.named("execute_tool")) == 2


def test_a_resumed_node_that_starts_again_repeats_nothing(seen):
    """The interrupted node runs from its top again: its model and tool calls are no news."""
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.types import interrupt

    model = apps.ScriptedChat(replies=["First thought.", "First thought.", "Second thought."])

    def think(state: MessagesState) -> dict[str, Any]:
        model.invoke("think")
        apps.lookup.invoke({"city": "Ulm"})
        interrupt("go on?")
        return {"messages": [model.invoke("think on")]}

    graph = StateGraph(MessagesState)
    graph.add_node("thinker", think)
    graph.add_edge(START, "thinker")
    app, config = graph.compile(checkpointer=InMemorySaver()), {"configurable": {"thread_id": "x"}}
    app.invoke(INPUT, config)
    app.invoke(Command(resume="yes"), config)
    assert [row[2] for row in seen.said()] == ["First thought.", "Second thought."]
    assert len(seen.watch.of(ToolCalled)) == len(seen.watch.of(ToolReturned)) == 1
    assert len(seen.watch.of(ModelCalled)) == 3


def test_approval_by_middleware(seen):
    from langchain.agents.middleware import HumanInTheLoopMiddleware

    app = apps.tool_agent_app(
        [apps.calls(("lookup", {"city": "Ulm"})), "128928."],
        middleware=[HumanInTheLoopMiddleware(interrupt_on={"lookup": True})],
        checkpointer=InMemorySaver(),
    )
    config = {"configurable": {"thread_id": "x"}}
    app.invoke(INPUT, config)
    app.invoke(Command(resume={"decisions": [{"type": "approve"}]}), config)
    assert [outcome for outcome, _ in seen.outcomes] == ["paused", "completed"]
    assert [row[2] for row in seen.said()] == ["lookup", "128928."]
    assert len(seen.watch.of(ToolReturned)) == 1
    assert seen.watch.of(HumanReplied)[0].agent == "assistant"
    assert len(seen.runs) == 1
