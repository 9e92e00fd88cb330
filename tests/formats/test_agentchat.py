"""AgentChat and Magentic-One: printed, and as JSON."""

from __future__ import annotations

import json

import pytest

from formats.samples import runs
from mastwatch.events import MessageSent, RunFinished, RunStarted, ToolCalled, ToolReturned
from mastwatch.formats import body


def said(run):
    return [(e.index, e.sender, e.kind) for e in run.events if isinstance(e, MessageSent)]


def of(run, kind):
    return [event for event in run.events if isinstance(event, kind)]


def test_typed_headers_with_tools_thoughts_and_a_summary():
    first, second = runs("autogen-console.txt")
    assert said(first) == [(0, "user", "opener"), (1, "clerk", "reply"), (6, "clerk", "reply")]
    assert [(e.name, e.arguments, e.call_id) for e in of(first, ToolCalled)] == [
        ("count_stock", {"item": "cup"}, "call_1"),
        ("open_door", {}, "call_2"),
    ]
    assert [(e.index, e.result, e.error) for e in of(first, ToolReturned)] == [
        (2, "12", None),
        (3, "The door is stuck.", "ToolError"),
    ]
    assert [(t.index, t.agent) for t in first.thoughts] == [(5, "clerk")]
    assert of(first, MessageSent)[-1].text == "There are 12 cups left."
    assert of(first, RunFinished)[0].outcome == "limit"
    assert (second.messages, second.where.line) == (2, 21)


def test_what_the_benchmark_prints_is_no_message():
    (run,) = runs("autogen-console.bench.txt")
    assert run.messages == 5
    assert of(run, MessageSent)[-1].text == "FINAL ANSWER: Northern Star"
    assert of(run, RunStarted)[0].task == "Which ferry leaves first on Sunday?"
    assert of(run, RunFinished)[0].outcome == "completed"


def test_a_benchmark_that_failed(read):
    log = b"SCENARIO.PY STARTING !#!#\n---------- user ----------\nGo.\n"
    found = read(log + b"SCENARIO.PY EXITED WITH CODE: 1 !#!#\n", name="console.log")
    assert of(found.runs[0], RunFinished)[0].outcome == "error"


def test_the_first_magentic_one_with_times():
    (run,) = runs("autogen-console.timed.txt")
    assert [kind for _, _, kind in said(run)] == ["opener", "reply", "reply", "code"]
    assert [t.text for t in run.thoughts] == ["Updated Ledger: not satisfied"]
    order, coder = of(run, MessageSent)[1:3]
    assert order.recipients == ("Coder",)
    assert [call.name for call in coder.tool_calls] == ["execute_code"]
    assert coder.at == 1730808009.0


def test_a_log_that_begins_in_the_middle_says_which_lines_are_lost(read):
    log = b"the end of something\nand more\n\n---------- a ----------\nHi\n"
    found = read(log, name="console.log")
    assert found.problems == ["console.log:1: lines 1-2 belong to no message; left out"]
    assert found.runs[0].messages == 1


def test_printed_calls_that_are_cut_off_are_told_with_their_line(read):
    log = b"---------- ToolCallRequestEvent (a) ----------\n[FunctionCall(id='1', argu\n"
    found = read(log, name="console.log")
    assert found.problems == ["console.log:1: the tool calls here cannot be read; kept as text"]
    assert found.runs[0].messages == 1


def test_a_message_without_end_is_cut(read, monkeypatch):
    monkeypatch.setattr(body, "MAX_TEXT", 1_000)
    log = "---------- a ----------\n" + "word " * 30 + "\n"
    found = read((log + ("word " * 30 + "\n") * 9).encode(), name="console.log")
    assert found.problems == ["console.log:1: a message of more than 0 MiB; its end is left out"]
    assert len(of(found.runs[0], MessageSent)[0].text) <= 1_000


@pytest.mark.parametrize("name", ["result.json", "lines.jsonl", "list.json"])
def test_messages_as_json(name):
    (run,) = runs(f"autogen.{name}")
    assert said(run) == [
        (0, "user", "opener"),
        (1, "waiter", "reply"),
        (4, "waiter", "reply"),
        (5, "manager", "reply"),
    ]
    (result,) = of(run, ToolReturned)
    assert (result.index, result.name, result.call_id, result.error) == (
        2,
        "book",
        "c1",
        "ToolError",
    )
    assert of(run, MessageSent)[2].recipients == ("manager",)
    assert of(run, MessageSent)[0].at == 1746093600.0
    ended = of(run, RunFinished)[0]
    outcome = ("completed", "Text 'TERMINATE' mentioned") if "result" in name else ("unknown", "")
    assert (ended.outcome, ended.reason) == outcome


def test_a_stream_that_ends_in_its_result_is_one_run(read, jsonl):
    message = {"source": "user", "content": "Hi", "type": "TextMessage"}
    found = read(jsonl(message, {"messages": [message], "stop_reason": None}))
    assert [run.messages for run in found.runs] == [1]


def test_a_broken_message_costs_only_itself(read):
    good = {"source": "a", "content": "Hi", "type": "TextMessage"}
    bad = {"source": "a", "content": "x", "type": "ToolCallRequestEvent"}
    found = read(json.dumps([good, bad, 7, good]).encode(), name="chat.json")
    assert said(found.runs[0]) == [(0, "a", "reply"), (3, "a", "reply")]
    assert [p.split(": ", 2)[1] for p in found.problems] == ["message 1", "message 2"]
