"""What is seen of whole apps: utterances, their spans, tool calls, hand-offs, ends."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, HumanMessage

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
from mastwatch.spans import semconv

INPUT = apps.INPUT


def test_supervisor_and_two_workers(seen):
    """Each utterance is one Event and on one span; tools, turns and run are rightly nested."""
    apps.supervisor_app().invoke(INPUT)

    assert seen.said() == apps.SUPERVISED
    assert seen.carriers() == apps.SUPERVISED_CARRIERS
    assert seen.tree() == [
        "invoke_workflow team",
        "  invoke_agent supervisor",
        "    chat scripted",
        "    execute_tool transfer_to_researcher",
        "  invoke_agent researcher",
        "    chat scripted",
        "    execute_tool lookup",
        "    chat scripted",
        "  invoke_agent supervisor",
        "    chat scripted",
        "    execute_tool transfer_to_writer",
        "  invoke_agent writer",
        "    chat scripted",
        "  invoke_agent supervisor",
        "    chat scripted",
    ]
    assert len({span.context.trace_id for span in seen.spans}) == 1
    assert seen.outcomes == [("completed", "end of graph")]
    assert [(e.source, e.target) for e in seen.watch.of(HandedOff)] == [
        ("supervisor", "researcher"),
        ("supervisor", "writer"),
    ]
    assert not [span for span in seen.spans if span.status.is_ok is False]
    (started,) = seen.watch.of(RunStarted)
    assert (started.name, started.framework, started.task) == ("team", "langgraph", apps.TASK)
    recipients = {m.index: m.recipients for m in seen.watch.of(MessageSent)}
    assert recipients[0] == ("researcher",)
    assert recipients[4] == recipients[7] == ("supervisor",)
    assert seen.open == 0


def test_agent_with_tools(seen):
    """A LangChain agent is a run with one turn; both tool calls point at the row that asked."""
    apps.tool_agent_app().invoke(INPUT, {"configurable": {"thread_id": "t-1"}})

    assert [row[:2] for row in seen.said()] == [(0, "assistant"), (3, "assistant")]
    assert seen.carriers() == {0: "chat scripted", 3: "invoke_agent assistant"}
    called = {e.name: e for e in seen.watch.of(ToolCalled)}
    assert called["lookup"].arguments == {"city": "Ulm"}
    assert {e.index for e in called.values()} == {0}
    assert {e.agent for e in called.values()} == {"assistant"}
    returned = {e.name: e.result for e in seen.watch.of(ToolReturned)}
    assert returned == {"lookup": "Ulm: 128928", "count_words": "3"}
    tools = seen.named("execute_tool")
    assert sorted(span.name for span in tools) == [
        "execute_tool count_words",
        "execute_tool lookup",
    ]
    (turn,) = seen.named("invoke_agent")
    assert {span.parent.span_id for span in tools} == {turn.context.span_id}
    (started,) = seen.watch.of(RunStarted)
    assert (started.framework, started.conversation_id) == ("langchain", "t-1")


def test_model_calls_say_what_they_cost(seen):
    apps.tool_agent_app().invoke(INPUT)
    first, last = seen.watch.of(ModelCalled)
    assert (first.model, first.provider, first.agent) == ("scripted", "scripted", "assistant")
    assert (first.input_tokens, first.output_tokens) == (11, 5)
    assert [(m.role, m.content) for m in first.request or ()] == [
        ("system", "You are an assistant."),
        ("user", apps.TASK),
    ]
    assert [m.role for m in last.request or ()] == ["system", "user", "assistant", "tool", "tool"]


def test_unnamed_agent_has_a_name(seen):
    apps.tool_agent_app(name=None).invoke(INPUT)
    assert {row[1] for row in seen.said()} == {"agent"}
    assert {e.agent for e in seen.watch.of(ToolReturned)} == {"agent"}


def test_unnamed_agent_has_one_turn(seen):
    """As one with a name: its tool calls lie inside the turn, not beside it."""
    replies = [apps.calls(("lookup", {"city": "Ulm"})), "128928."]
    apps.tool_agent_app(replies, name=None).invoke(INPUT)
    assert seen.tree() == [
        "invoke_workflow LangGraph",
        "  invoke_agent agent",
        "    chat scripted",
        "    execute_tool lookup",
        "    chat scripted",
    ]


def test_no_text_on_spans(seen):
    """Without content capture no word of a message or an argument leaves the process."""
    apps.supervisor_app().invoke(INPUT)
    exported = "".join(span.to_json() for span in seen.spans)
    assert "128928" not in exported
    assert "Ulm" not in exported


def test_looping_supervisor_stays_in_one_branch(seen):
    """Sequential rounds of one worker are one conversation, so that its loop shows."""
    with pytest.raises(Exception, match="Recursion limit of 12"):
        apps.looping_supervisor_app().invoke(INPUT)
    assert seen.outcomes == [("limit", "Recursion limit of 12 reached")]
    assert {event.branch for event in seen.watch.events} == {""}
    assert [row[1] for row in seen.said()].count("researcher") == 12
    (root,) = seen.named("invoke_workflow")
    assert root.attributes[semconv.RUN_OUTCOME] == "limit"
    assert root.status.is_ok
    assert seen.open == 0


def test_function_nodes_speak(seen):
    """Agents without a model are heard by what their node returns."""
    apps.function_nodes_app().invoke(INPUT)
    assert seen.said() == [(0, "ping", "ping"), (1, "pong", "pong")]
    assert seen.carriers() == {0: "invoke_agent ping", 1: "invoke_agent pong"}


def test_history_loaded_by_a_node_is_not_said(seen):
    from langgraph.graph import START, MessagesState, StateGraph

    graph = StateGraph(MessagesState)
    graph.add_node("load", lambda s: {"messages": [HumanMessage("old"), AIMessage("older")]})
    graph.add_edge(START, "load")
    graph.compile().invoke(INPUT)
    assert seen.said() == []


def test_nested_graph_in_a_tool_is_a_branch(seen):
    apps.nested_agent_app().invoke(INPUT)
    assert [(m.index, m.sender, m.branch) for m in seen.watch.of(MessageSent)] == [
        (0, "assistant", ""),
        (1, "expert", "1"),
        (3, "expert", "1"),
        (5, "assistant", ""),
    ]
    assert seen.tree() == [
        "invoke_workflow assistant",
        "  invoke_agent assistant",
        "    chat scripted",
        "    execute_tool ask_expert",
        "      invoke_agent expert",
        "        chat scripted",
        "        execute_tool lookup",
        "        chat scripted",
        "    chat scripted",
    ]
    assert len(seen.runs) == 1
    assert [m.recipients for m in seen.watch.of(MessageSent)][2] == ("assistant",)


def test_bare_model_call_is_a_small_run(seen):
    apps.ScriptedChat(replies=["Hello."]).invoke("Say hello.")
    assert seen.said() == [(0, "assistant", "Hello.")]
    assert seen.carriers() == {0: "chat scripted"}
    seen.emitter.histories.close()
    assert seen.tree() == ["invoke_workflow scripted", "  chat scripted"]
    assert seen.watch.of(RunStarted)[0].task == "Say hello."
    assert seen.outcomes == [("completed", "no further call")]


def test_bare_model_call_joins_the_host_run(seen):
    run = seen.emitter.start_run("mine", framework="custom")
    with run.attached():
        apps.ScriptedChat(replies=["Hello."]).invoke("Say hello.")
    run.finish("completed")
    assert seen.runs == [run.id]
    assert seen.said(run.id) == [(0, "assistant", "Hello.")]
    assert seen.outcomes == [("completed", "")]


def test_graph_inside_a_host_run_is_a_branch(seen):
    run = seen.emitter.start_run("mine", framework="custom")
    with run.attached():
        apps.tool_agent_app().invoke(INPUT)
    run.finish("completed")
    assert seen.runs == [run.id]
    assert {m.branch for m in seen.watch.of(MessageSent)} == {"1"}
    assert [e.branch for e in seen.watch.of(RunFinished)] == ["1", ""]


def test_plain_chain_is_a_run_only_if_it_calls_something(seen):
    from langchain_core.output_parsers import StrOutputParser
    from langchain_core.prompts import ChatPromptTemplate

    prompt = ChatPromptTemplate.from_messages([("user", "Translate {text}.")])
    prompt.invoke({"text": "Haus"})
    assert seen.watch.events == []
    chain = prompt | apps.ScriptedChat(replies=["house"]) | StrOutputParser()
    assert chain.invoke({"text": "Haus"}) == "house"
    assert seen.said() == [(0, "assistant", "house")]
    assert seen.tree() == ["invoke_workflow RunnableSequence", "  chat scripted"]
    assert seen.outcomes == [("completed", "chain returned")]


def test_tool_that_raises(seen):
    """The exception passes, and the tool call says which."""
    app = apps.tool_agent_app([apps.calls(("broken", {"city": "X"})), "never said"])
    with pytest.raises(ValueError, match="no such city"):
        app.invoke(INPUT)
    (returned,) = seen.watch.of(ToolReturned)
    assert returned.error == "ValueError"
    (span,) = seen.named("execute_tool")
    assert span.attributes["error.type"] == "ValueError"
    assert seen.outcomes == [("error", "ValueError")]
    assert seen.watch.of(RunFinished)[0].error == "ValueError"
    assert seen.open == 0


def test_tool_whose_error_is_handled(seen):
    """A ToolMessage of status "error" is a failed call in a run that goes on."""

    def handled(city: str) -> str:
        from langchain_core.tools import ToolException

        raise ToolException("no such city")

    from langchain_core.tools import StructuredTool

    tool = StructuredTool.from_function(
        handled, name="handled", description="Fail.", handle_tool_error=True
    )
    app = apps.tool_agent_app([apps.calls(("handled", {"city": "X"})), "Sorry."], tools=[tool])
    app.invoke(INPUT)
    assert [e.error for e in seen.watch.of(ToolReturned)] == ["ToolException"]
    assert seen.outcomes == [("completed", "end of graph")]


def test_unknown_tool_is_a_failed_call(seen):
    """A tool the model invented never runs; its error message is still the call's result."""
    app = apps.tool_agent_app([apps.calls(("invented", {})), "Sorry."])
    app.invoke(INPUT)
    (returned,) = seen.watch.of(ToolReturned)
    assert (returned.name, returned.error) == ("invented", "ToolException")
    assert [span.name for span in seen.named("execute_tool")] == ["execute_tool invented"]


def test_model_that_raises(seen):
    app = apps.tool_agent_app([RuntimeError("rate limit")])
    with pytest.raises(RuntimeError, match="rate limit"):
        app.invoke(INPUT)
    assert [e.error for e in seen.watch.of(ModelCalled)] == ["RuntimeError"]
    assert seen.said() == []
    assert seen.outcomes == [("error", "RuntimeError")]
    (chat,) = seen.named("chat")
    assert chat.attributes["error.type"] == "RuntimeError"


def test_a_bare_call_speaks_in_the_name_it_was_given(seen):
    apps.ScriptedChat(replies=["B"]).invoke("Grade it.", {"run_name": "grader"})
    assert seen.said() == [(0, "grader", "B")]


def test_text_completion_model(seen):
    from langchain_core.language_models import FakeListLLM

    assert FakeListLLM(responses=["text"]).invoke("prompt") == "text"
    assert [row[2] for row in seen.said()] == ["text"]
    (call,) = seen.watch.of(ModelCalled)
    assert [(m.role, m.content) for m in call.request or ()] == [("user", "prompt")]
