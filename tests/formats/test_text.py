"""Plain text: who speaks, what belongs together, and what is no conversation at all."""

from __future__ import annotations

import gzip

import pytest

from mastwatch.events import MessageSent, RunStarted, ToolReturned

TALK = b"""Planner: We need the invoice of March.

Coder: I will search the archive.

It holds two folders:
- 2030
- 2031

Planner: Take the second.
"""


def messages(run) -> list[tuple[str, str | None]]:
    return [(e.sender, e.text) for e in run.events if isinstance(e, MessageSent)]


def test_paragraphs_without_a_name_belong_to_the_speaker_before(read) -> None:
    [run] = read(TALK, "text", "talk.txt").runs
    assert messages(run) == [
        ("Planner", "We need the invoice of March."),
        ("Coder", "I will search the archive.\n\nIt holds two folders:\n- 2030\n- 2031"),
        ("Planner", "Take the second."),
    ]
    assert (run.id, run.messages, run.format) == ("talk.txt#1", 3, "text")


def test_a_text_of_one_paragraph_is_read_line_by_line(read) -> None:
    data = b"\nAgent1: What is 1 + 1?\nAgent2: It is 3.\nI am sure.\nAgent1: Thank you!\n"
    [run] = read(data, "text").runs
    assert messages(run) == [
        ("Agent1", "What is 1 + 1?"),
        ("Agent2", "It is 3.\n\nI am sure."),
        ("Agent1", "Thank you!"),
    ]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("Chief Technology Officer: yes", "Chief Technology Officer"),
        ("Agent 2: yes", "Agent 2"),
        ("**Writer:** yes", "Writer"),
        ("web_surfer:\nyes", "web_surfer"),
        ("计划者: yes", "计划者"),
        ("Plan: go on", None),
        ("Step 3: go on", None),
        ("The answer is this: 4", None),
        ("see https://example.org/a: b", None),
        ("12:30 we met", None),
        ("- Coder: a list", None),
        (f"{'x' * 50}: no name is so long", None),
    ],
)
def test_names_and_what_only_looks_like_one(read, line, name) -> None:
    data = f"Starter: Let us begin.\n\n{line}\n".encode()
    [run] = read(data, "text").runs
    speakers = [sender for sender, _ in messages(run)]
    assert speakers == (["Starter", name] if name else ["Starter"])


def test_what_stands_before_the_first_name_is_the_task(read) -> None:
    got = read(b"Find the invoice.\n\nPlanner: Where?\n", "text", "talk.txt")
    [run] = got.runs
    assert [e.task for e in run.events if isinstance(e, RunStarted)] == ["Find the invoice."]
    assert messages(run) == [("user", "Find the invoice."), ("Planner", "Where?")]
    assert got.problems == ["talk.txt:1: what stands before the first 'Name:' is read as the task"]


def test_a_users_first_words_are_the_task_and_later_ones_a_persons(read) -> None:
    [run] = read(b"User: Add.\n\nBot: 4\n\nUser: No.\n", "text").runs
    kinds = [e.kind for e in run.events if isinstance(e, MessageSent)]
    assert kinds == ["opener", "reply", "human"]


def test_system_and_tool_are_what_they_say(read) -> None:
    [run] = read(b"System: Be brief.\n\nBot: I look.\n\nTool: nothing\n", "text").runs
    assert next(e.kind for e in run.events if isinstance(e, MessageSent)) == "system"
    assert [(e.agent, e.result) for e in run.events if isinstance(e, ToolReturned)] == [
        ("Bot", "nothing")
    ]


def test_a_text_without_names_is_read_and_said(read) -> None:
    got = read(b"\n\nonce upon a time\n\nthe end\n", "text", "tale.txt")
    assert messages(got.runs[0]) == [("unknown", "once upon a time"), ("unknown", "the end")]
    assert got.problems == [
        "tale.txt:3: no paragraph begins with 'Name:'; all is read as said by 'unknown'"
    ]


def test_blank_and_broken_texts_are_problems_with_a_position(read) -> None:
    assert read(b"\n  \n", "text", "x.txt").problems == [
        "x.txt: record 1: holds no text, only blank lines"
    ]
    got = read(b"A: one\n\nB: \xff two\n", "text", "x.txt")
    assert got.problems == [
        "x.txt:3: not UTF-8 at byte 4; what cannot be decoded is replaced (here and further on)"
    ]
    assert messages(got.runs[0])[1] == ("B", "\ufffd two")


def test_windows_line_ends_bom_and_gzip(read) -> None:
    [run] = read(gzip.compress(b"\xef\xbb\xbf" + TALK.replace(b"\n", b"\r\n")), "text").runs
    assert [sender for sender, _ in messages(run)] == ["Planner", "Coder", "Planner"]


def test_a_conversation_is_recognised(read) -> None:
    assert [run.format for run in read(TALK).runs] == ["text"]


@pytest.mark.parametrize(
    "data",
    [
        b"hello world\n",
        b"version: 3\n\nservices:\n  web: x\n\nvolumes:\n  data: y\n",
        b"INFO: started\n\nERROR: failed\n\nINFO: stopped\n",
        b"Note: a\n\nNote: b\n\nExample: c\n",
        b"Dear Anna,\n\nPlanner: a\n\nCoder: b\n\nPlanner: c\n",
        b"id,agent\n1,Planner: x\n",
        b'{"broken": \n\nPlanner: a\n\nCoder: b\n\nPlanner: c\n',
    ],
)
def test_other_texts_are_not_taken_for_a_conversation(read, data) -> None:
    got = read(data, "auto")
    assert got.runs == []
    assert got.problems


def test_json_formats_come_first(read, record, jsonl) -> None:
    said = "Planner: a\n\nCoder: b\n\nPlanner: c"
    [run] = read(jsonl(record(texts=(said, said)))).runs
    assert run.format == "record"
