"""Recorded spans, through the bridge: the same Events as a hook would give."""

from __future__ import annotations

import pytest

from dialects.fixtures import recorded
from mastwatch.events import MessageSent, RunFinished, RunStarted, ToolCalled, ToolReturned
from mastwatch.spans.bridging.replay import replay
from mastwatch.testing.recording import Recording

TASK = "Where is my order A-17, please?"
ASKED = "Clerk, please look up order A-17."
FOUND = "Order A-17 left the warehouse on Monday."
ANSWER = "Your order left the warehouse on Monday."
DONE = "The customer has been told. TERMINATE"
ON = {"number": "A-17"}


def told(name: str) -> Recording:
    recording = Recording()
    replay(recorded(name), recording)
    return recording


def transcript(recording: Recording) -> list[tuple[object, ...]]:
    """Rows by number: who said what, who got what of which tool; the branch."""
    rows: dict[int, tuple[object, ...]] = {}
    for message in recording.of(MessageSent):
        asked = [call.name for call in message.tool_calls]
        rows[message.index] = (message.branch, message.sender, message.text, *asked)
    for result in recording.of(ToolReturned):
        rows[result.index] = (result.branch, result.agent, result.name, result.error)
    assert sorted(rows) == list(range(len(rows)))
    return [rows[index] for index in sorted(rows)]


def delegation(
    tool: str, failure: str = "ValueError", reply: bool = True
) -> list[tuple[object, ...]]:
    """A planner that has a clerk as its tool; the clerk may fail before it can answer."""
    answered = [("1", "clerk", FOUND)] if reply else []
    return [
        ("", "planner", "", tool),
        ("1", "clerk", "", "lookup_order"),
        ("1", "clerk", "lookup_order", None),
        ("1", "clerk", "", "check_stock"),
        ("1", "clerk", "check_stock", failure),
        *answered,
        ("", "planner", tool, None),
        ("", "planner", ANSWER),
    ]


DELEGATIONS = {
    "ag2": delegation("task_clerk"),
    "google_adk": delegation("clerk", "TOOL_ERROR"),
    "strands": delegation("ask_clerk"),
    "strands.latest": delegation("ask_clerk"),
    "pydantic_ai": delegation("ask_clerk", reply=False),
    "pydantic_ai.v2": delegation("ask_clerk", reply=False),
    "logfire": delegation("ask_clerk", reply=False),
    "langsmith": delegation("ask_clerk", reply=False),
    "genai": delegation("ask_clerk", reply=False),
    "openinference": delegation("ask_clerk", reply=False),
    "openllmetry": delegation("ask_clerk", reply=False),
}


@pytest.mark.parametrize("name", DELEGATIONS)
def test_an_agent_as_a_tool(name: str) -> None:
    recording = told(name)
    assert transcript(recording) == DELEGATIONS[name]
    outer, inner = recording.of(RunStarted)
    assert (outer.name, outer.task, inner.name, inner.task) == ("planner", TASK, "clerk", ASKED)
    assert (outer.branch, inner.branch, outer.run_id) == ("", "1", inner.run_id)
    assert {event.outcome for event in recording.of(RunFinished)} == {"completed"}
    calls = {event.name: event for event in recording.of(ToolCalled)}
    assert calls["lookup_order"].arguments == ON
    assert [e.result for e in recording.of(ToolReturned, name="lookup_order")] == [FOUND]


def test_a_chain_of_agents() -> None:
    recording = told("agent_framework")
    assert transcript(recording) == [
        ("", "planner", ASKED),
        ("", "clerk", "", "lookup_order"),
        ("", "clerk", "lookup_order", None),
        ("", "clerk", "", "check_stock"),
        ("", "clerk", "check_stock", "ValueError"),
        ("", "clerk", ANSWER),
    ]
    (run,) = recording.of(RunStarted)
    assert (run.name, run.task, run.framework) == ("desk", TASK, "agent_framework")


def test_a_chat_of_classic_ag2() -> None:
    recording = told("ag2_classic")
    assert transcript(recording) == [
        ("", "planner", ASKED),
        ("", "clerk", "", "lookup_order"),
        ("", "clerk", "lookup_order", None),
        ("", "clerk", "", "check_stock"),
        ("", "clerk", "check_stock", "ExecutionError"),
        ("", "clerk", ANSWER),
        ("", "planner", DONE),
    ]
    (run,) = recording.of(RunStarted)
    assert (run.framework, run.conversation_id) == ("autogen", "271828")
    assert recording.of(MessageSent)[0].kind == "opener"


def test_a_group_chat_of_classic_ag2_is_one_chat_without_echoes() -> None:
    recording = told("ag2_classic.group")
    assert transcript(recording) == [
        ("", "planner", ASKED),
        ("", "clerk", FOUND),
        ("", "writer", ANSWER),
    ]
    assert len(recording.of(RunStarted)) == 1


@pytest.mark.parametrize(
    "name",
    [
        "ag2",
        "pydantic_ai",
        "google_adk",
        "strands",
        "langsmith",
        "agent_framework",
        "openinference",
    ],
)
def test_without_content_the_same_tools_by_the_same_agents(name: str) -> None:
    """Only what was said is missing, and what a message asked for where that is content, too."""
    whole, withheld = told(name), told(f"{name}.off")
    for kind in (RunStarted, RunFinished):
        assert len(withheld.of(kind)) == len(whole.of(kind))
    assert [(e.agent, e.name, e.error) for e in withheld.of(ToolReturned)] == [
        (e.agent, e.name, e.error) for e in whole.of(ToolReturned)
    ]
    speakers = sorted(message.sender for message in whole.of(MessageSent))
    assert sorted(message.sender for message in withheld.of(MessageSent)) == speakers
    assert not any(message.text for message in withheld.of(MessageSent))
    assert {event.result for event in withheld.of(ToolReturned)} == {None}
