"""LangChain's message lists in their three shapes."""

from __future__ import annotations

import json

from formats.samples import runs
from mastwatch.events import MessageSent, RunStarted, ToolCalled, ToolReturned


def of(run, kind):
    return [event for event in run.events if isinstance(event, kind)]


def test_messages_to_dict():
    (run,) = runs("langchain.dict.json")
    assert [(m.sender, m.kind) for m in of(run, MessageSent)] == [
        ("system", "system"),
        ("user", "opener"),
        ("forecaster", "reply"),
        ("forecaster", "reply"),
    ]
    (call,), (result,) = of(run, ToolCalled), of(run, ToolReturned)
    assert (call.name, call.arguments, call.call_id) == ("weather", {"city": "Bern"}, "lc1")
    assert (result.index, result.agent, result.result) == (3, "forecaster", "dry")
    assert of(run, RunStarted)[0].task == "Rain in Bern?"


def test_dumpd():
    (run,) = runs("langchain.dumpd.json")
    (result,) = of(run, ToolReturned)
    assert (result.name, result.call_id, result.error) == ("weather", "lc1", "ToolError")
    assert of(run, MessageSent)[-1].text == "I cannot tell."


def test_plain_messages_in_a_state():
    first, second = runs("langchain.plain.jsonl")
    assert first.messages == 2
    assert [(m.sender, m.kind) for m in of(second, MessageSent)] == [
        ("user", "opener"),
        ("scout", "reply"),
        ("assistant", "reply"),
    ]


def test_a_broken_message_costs_only_itself(read):
    messages = [{"type": "human", "content": "a"}, {"type": "ghost", "content": "b"}, None]
    found = read(json.dumps(messages).encode(), name="lc.json")
    assert [m.text for m in of(found.runs[0], MessageSent)] == ["a"]
    assert [p[:23] for p in found.problems] == [
        "lc.json:1: message 1: i",
        "lc.json:1: message 2: i",
    ]
