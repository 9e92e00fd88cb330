"""Chat completion message lists in the shapes in which people keep them."""

from __future__ import annotations

import gzip
import json

import pytest

from mastwatch.events import MessageSent, RunStarted, ToolCalled, ToolReturned

CHAT = [
    {"role": "system", "content": "Be brief"},
    {"role": "user", "content": [{"type": "text", "text": "Weather in Rome?"}]},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "w", "arguments": '{"q": "Rome"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "sunny"},
    {"role": "assistant", "content": "Sunny."},
    {"role": "user", "content": "Thanks"},
]


@pytest.mark.parametrize(
    "data",
    [
        json.dumps(CHAT),
        json.dumps(CHAT, indent=1),
        json.dumps({"messages": CHAT}, indent=2),
        json.dumps({"task_id": 0, "reward": 1.0, "traj": CHAT}),
        json.dumps([{"task_id": 0, "traj": CHAT}], indent=1),
        json.dumps([CHAT]),
    ],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_every_shape_gives_the_same_run(read, data, pack):
    found = read(pack(data.encode()))
    assert found.problems == []
    (run,) = found.runs
    assert (run.id, run.format, run.messages) == ("log.jsonl#1", "openai", 6)
    sent = [e for e in run.events if isinstance(e, MessageSent)]
    assert [(e.index, e.sender, e.kind) for e in sent] == [
        (0, "system", "system"),
        (1, "user", "opener"),
        (2, "assistant", "reply"),
        (4, "assistant", "reply"),
        (5, "user", "human"),
    ]
    assert sent[2].text == ""


def test_calls_and_results_pair(read, jsonl):
    run = read(jsonl(CHAT)).runs[0]
    (call,) = [e for e in run.events if isinstance(e, ToolCalled)]
    (back,) = [e for e in run.events if isinstance(e, ToolReturned)]
    assert (call.index, call.name, call.arguments, call.id) == (2, "w", {"q": "Rome"}, "c1")
    assert (back.index, back.name, back.agent, back.result) == (3, "w", "assistant", "sunny")


def test_the_user_s_first_message_is_the_task(read, jsonl):
    started = read(jsonl(CHAT)).runs[0].events[0]
    assert isinstance(started, RunStarted)
    assert started.task == "Weather in Rome?"


def test_each_line_is_a_run(read, jsonl):
    found = read(jsonl(CHAT, {"id": "mine", "messages": CHAT}))
    assert [run.id for run in found.runs] == ["log.jsonl#1", "mine"]


def test_named_speakers_are_agents(read, jsonl):
    chat = [
        {"role": "user", "name": "boss", "content": "Go"},
        {"role": "assistant", "name": "coder", "content": "Gone"},
        {"role": "user", "name": "critic", "content": "Wrong"},
    ]
    sent = [e for e in read(jsonl(chat)).runs[0].events if isinstance(e, MessageSent)]
    assert [(e.sender, e.kind) for e in sent] == [
        ("boss", "opener"),
        ("coder", "reply"),
        ("critic", "reply"),
    ]


def test_legacy_function_calls_are_calls(read, jsonl):
    chat = [
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "1"},
    ]
    run = read(jsonl(chat)).runs[0]
    assert [e.name for e in run.events if isinstance(e, ToolCalled | ToolReturned)] == ["f", "f"]


def test_messages_line_by_line_are_one_run(read, jsonl):
    talk = [{"role": "user", "content": "Add."}, {"role": "assistant", "content": "Two."}]
    found = read(jsonl(*talk, b"oops", *talk, {"id": "r", "messages": talk}, *talk))
    assert [(run.id, run.messages) for run in found.runs] == [
        ("log.jsonl#1", 4),
        ("r", 2),
        ("log.jsonl#7", 2),
    ]
    assert len(found.problems) == 1
