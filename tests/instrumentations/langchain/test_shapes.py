"""The many ways in which people build agents with LangChain and LangGraph."""

from __future__ import annotations

from operator import add
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command

from apps import langgraph_apps as apps
from mastwatch.events import (
    HandedOff,
    MessageSent,
    ModelCalled,
    RunFinished,
    RunStarted,
    ToolCalled,
    ToolReturned,
)

INPUT = apps.INPUT


def test_swarm_by_commands(seen):
    """Nodes that name the next speaker hand off."""

    def alice(state: MessagesState) -> Command[str]:
        reply = apps.ScriptedChat(replies=["Bob, over to you."]).invoke(state["messages"])
        return Command(goto="bob", update={"messages": [reply]})

    def bob(state: MessagesState) -> Command[str]:
        reply = apps.ScriptedChat(replies=["All done."]).invoke(state["messages"])
        return Command(goto=END, update={"messages": [reply]})

    graph = StateGraph(MessagesState)
    graph.add_node("alice", alice, destinations=("bob",))
    graph.add_node("bob", bob, destinations=(END,))
    graph.add_edge(START, "alice")
    graph.compile().invoke(INPUT)
    assert seen.said() == [(0, "alice", "Bob, over to you."), (1, "bob", "All done.")]
    assert [(e.source, e.target) for e in seen.watch.of(HandedOff)] == [("alice", "bob")]
    assert seen.carriers() == {0: "invoke_agent alice", 1: "invoke_agent bob"}


def test_team_inside_a_team(seen):
    """A graph that is a node of a graph: its nodes are the agents, all in one conversation."""
    inner = StateGraph(MessagesState)
    for name in ("writer", "editor"):
        model = apps.ScriptedChat(replies=[f"{name} speaks"])
        inner.add_node(name, lambda s, model=model: {"messages": [model.invoke(s["messages"])]})
    inner.add_edge(START, "writer")
    inner.add_edge("writer", "editor")
    outer = StateGraph(MessagesState)
    outer.add_node("paper", inner.compile())
    outer.add_node("critic", apps.function_nodes_app())
    outer.add_edge(START, "paper")
    outer.add_edge("paper", "critic")
    outer.compile(name="house").invoke(INPUT)
    assert seen.said() == [
        (0, "writer", "writer speaks"),
        (1, "editor", "editor speaks"),
        (2, "ping", "ping"),
        (3, "pong", "pong"),
    ]
    assert seen.tree() == [
        "invoke_workflow house",
        "  invoke_agent writer",
        "    chat scripted",
        "  invoke_agent editor",
        "    chat scripted",
        "  invoke_agent ping",
        "  invoke_agent pong",
    ]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", ["helper", None])
def test_prebuilt_react_agent(seen, name):
    from langgraph.prebuilt import create_react_agent

    model = apps.ScriptedChat(replies=[apps.calls(("lookup", {"city": "Ulm"})), "128928."])
    create_react_agent(model, [apps.lookup], name=name).invoke(INPUT)
    agent = name or "agent"
    assert seen.said() == [(0, agent, "lookup"), (2, agent, "128928.")]
    assert {e.agent for e in seen.watch.of(ToolCalled)} == {agent}
    assert len(seen.carriers()) == 2


def test_hand_written_tool_loop(seen):
    """A tools node without ToolNode: the call is known by the message that answers it."""
    model = apps.ScriptedChat(replies=[apps.calls(("add", {"a": 1})), "2"])

    def agent(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    def act(state: MessagesState) -> dict[str, Any]:
        (call,) = state["messages"][-1].tool_calls
        return {"messages": [ToolMessage("two", tool_call_id=call["id"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("calculator", agent)
    graph.add_node("act", act)
    graph.add_edge(START, "calculator")
    graph.add_edge("act", "calculator")
    graph.add_conditional_edges(
        "calculator", lambda s: "act" if s["messages"][-1].tool_calls else END, ["act", END]
    )
    graph.compile().invoke(INPUT)
    assert seen.said() == [(0, "calculator", "add"), (2, "calculator", "2")]
    (returned,) = seen.watch.of(ToolReturned)
    assert (returned.name, returned.agent, returned.result) == ("add", "calculator", "two")
    assert [span.name for span in seen.named("execute_tool")] == ["execute_tool add"]


def test_rewrapped_answers_are_not_said_twice(seen):
    """The tutorials' pattern: a node runs an agent and returns its answer under a new name."""
    agent = apps.tool_agent_app(["The answer."], name="inner")

    def node(state: MessagesState) -> dict[str, Any]:
        text = agent.invoke(state)["messages"][-1].content
        return {"messages": [AIMessage(text, name="researcher")]}

    graph = StateGraph(MessagesState)
    graph.add_node("researcher", node)
    graph.add_edge(START, "researcher")
    graph.compile().invoke(INPUT)
    assert seen.said() == [(0, "inner", "The answer.")]


def test_a_model_inside_a_tool_says_nothing(seen):
    """What a tool's model writes is the tool's result; it is a model call all the same."""
    helper = apps.ScriptedChat(replies=["summary"])

    @tool
    def summarise(text: str) -> str:
        """Summarise."""
        return str(helper.invoke(text).content)

    replies = [apps.calls(("summarise", {"text": "long"})), "Short."]
    apps.tool_agent_app(replies, tools=[summarise]).invoke(INPUT)
    assert [row[2] for row in seen.said()] == ["summarise", "Short."]
    assert len(seen.watch.of(ModelCalled)) == 3
    assert seen.tree()[3:5] == ["    execute_tool summarise", "      chat scripted"]


def test_summaries_of_a_middleware_are_not_said(seen):
    from langchain.agents.middleware import SummarizationMiddleware

    middleware = SummarizationMiddleware(
        model=apps.ScriptedChat(replies=["a summary"]),
        trigger=("messages", 2),
        keep=("messages", 1),
    )
    history = [HumanMessage("one"), AIMessage("two"), HumanMessage("three")]
    apps.tool_agent_app(["Answer."], middleware=[middleware]).invoke({"messages": history})
    assert seen.said() == [(0, "assistant", "Answer.")]
    assert len(seen.watch.of(ModelCalled)) == 2


def test_limits_of_a_middleware_are_not_said(seen):
    """The framework's own "limit exceeded" is nobody's utterance."""
    from langchain.agents.middleware import ModelCallLimitMiddleware

    apps.tool_agent_app(
        [apps.calls(("lookup", {"city": "Ulm"}))],
        middleware=[ModelCallLimitMiddleware(run_limit=2, exit_behavior="end")],
    ).invoke(INPUT)
    assert [row[2] for row in seen.said()] == ["lookup", "lookup"]


def test_a_middleware_that_asks_a_model_for_itself_says_nothing(seen):
    """Choosing the tools is a hidden call, though it happens where the agent speaks."""
    from langchain.agents.middleware import LLMToolSelectorMiddleware

    chosen = apps.calls(("ToolSelectionResponse", {"tools": ["lookup"]}))
    selector = apps.ScriptedChat(replies=[chosen], model_name="selector")
    apps.tool_agent_app(
        ["Answer."], middleware=[LLMToolSelectorMiddleware(model=selector, max_tools=1)]
    ).invoke(INPUT)
    assert seen.said() == [(0, "assistant", "Answer.")]
    assert [call.model for call in seen.watch.of(ModelCalled)] == ["selector", "scripted"]


@pytest.mark.parametrize("name", ["assistant", None])
def test_structured_answer(seen, name):
    """The "tool" of a structured answer is no tool call."""
    from langchain.agents.structured_output import ToolStrategy
    from pydantic import BaseModel

    class City(BaseModel):
        name: str

    reply = apps.calls(("City", {"name": "Ulm"}))
    apps.tool_agent_app([reply], name=name, response_format=ToolStrategy(City)).invoke(INPUT)
    assert seen.said() == [(0, name or "agent", "City")]
    assert seen.watch.of(ToolReturned) == []


def test_functional_api(seen):
    from langgraph.func import entrypoint, task

    model = apps.ScriptedChat(replies=["drafted", "polished"])

    @task
    def draft(topic: str) -> str:
        return str(model.invoke(topic).content)

    @task
    def polish(text: str) -> str:
        return str(model.invoke(text).content)

    @entrypoint()
    def workflow(topic: str) -> str:
        return polish(draft(topic).result()).result()

    assert workflow.invoke("Ulm") == "polished"
    assert seen.said() == [(0, "draft", "drafted"), (1, "polish", "polished")]
    assert {m.branch for m in seen.watch.of(MessageSent)} == {""}
    assert seen.outcomes == [("completed", "end of graph")]
    assert seen.watch.of(RunStarted)[0].task == "Ulm"


def test_retries_and_fallbacks_are_one_run(seen):
    model = apps.ScriptedChat(replies=[ConnectionError("1"), "fine"])
    chain = model.with_retry(stop_after_attempt=2, wait_exponential_jitter=False)
    assert chain.invoke("hello").content == "fine"
    assert [e.error for e in seen.watch.of(ModelCalled)] == ["ConnectionError", None]
    assert seen.said() == [(0, "assistant", "fine")]  # not by the model's class


def test_state_of_many_kinds(seen):
    """Reading a state never touches what is no message, and never walks long lists of data."""

    class Trap:
        def __getattr__(self, name: str) -> Any:
            raise AssertionError(name)

    class Odd(TypedDict):
        messages: Annotated[list[Any], add]
        trap: Any
        numbers: list[int]

    graph = StateGraph(Odd)
    graph.add_node("node", lambda s: {"messages": [AIMessage("hi")], "trap": Trap()})
    graph.add_edge(START, "node")
    graph.compile().invoke({"messages": [], "trap": Trap(), "numbers": list(range(10_000))})
    assert seen.said() == [(0, "node", "hi")]


def test_rounds_of_a_supervisor_are_told_from_repeated_tool_calls(seen):
    """Handing over has no arguments and always answers the same; that alone is no repetition."""
    apps.supervisor_app().invoke(INPUT)
    polls = {event.name: event.poll for event in seen.watch.of(ToolCalled)}
    assert polls == {"transfer_to_researcher": True, "lookup": False, "transfer_to_writer": True}


def test_a_nested_graph_at_its_limit_fails_its_tool(seen):
    """The branch ends by its limit; for the tool that ran it, that is an error."""
    looping = apps.looping_supervisor_app(5)

    @tool
    def delegate(what: str) -> str:
        """Ask the team."""
        return str(looping.invoke({"messages": [("user", what)]}))

    app = apps.tool_agent_app([apps.calls(("delegate", {"what": "x"}))], tools=[delegate])
    with pytest.raises(RecursionError):
        app.invoke(INPUT)
    ends = {event.branch: event.outcome for event in seen.watch.of(RunFinished)}
    assert ends == {"1": "limit", "": "limit"}
    outer = [e for e in seen.watch.of(ToolReturned) if e.name == "delegate"]
    assert [e.error for e in outer] == ["langgraph.errors.GraphRecursionError"]


def test_a_node_that_leaves_its_graph_hands_off_once(seen):
    """A ParentCommand passes through several chains on its way up; it is one hand-off."""

    def scout(state: MessagesState) -> Command[str]:
        return Command(goto="boss", graph=Command.PARENT, update={"messages": []})

    inner = StateGraph(MessagesState)
    inner.add_node("scout", scout)
    inner.add_edge(START, "scout")
    outer = StateGraph(MessagesState)
    outer.add_node("patrol", inner.compile())
    outer.add_node("boss", lambda state: {"messages": [AIMessage("Good.")]})
    outer.add_edge(START, "patrol")
    outer.compile().invoke(INPUT)
    assert [(e.source, e.target) for e in seen.watch.of(HandedOff)] == [("scout", "boss")]
    assert seen.said() == [(0, "boss", "Good.")]
    assert all(span.status.is_ok for span in seen.spans)
