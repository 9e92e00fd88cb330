"""Our own record becomes Events that say what the log says, and no more."""

from __future__ import annotations

from mastwatch.events import (
    MessageSent,
    ModelCalled,
    RunFinished,
    RunStarted,
    ToolCalled,
    ToolReturned,
)


def row(index, content="text", agent="a", role="assistant", **more):
    return {"index": index, "agent": agent, "role": role, "content": content, **more}


def events(read, jsonl, messages, kind=None, **more):
    record = {"id": "r", "framework": "AG2", "task": "Add 2 and 2", "messages": messages, **more}
    found = read(jsonl(record))
    assert found.problems == []
    return [e for e in found.runs[0].events if kind is None or isinstance(e, kind)]


def test_a_run_begins_and_ends(read, jsonl, record):
    run = read(jsonl(record(labels={"turn_cap": 9}))).runs[0]
    first, last = run.events[0], run.events[-1]
    assert isinstance(first, RunStarted)
    assert (first.run_id, first.framework, first.task) == ("r1", "AG2", "Do it")
    assert first.contract.max_messages == 9
    assert isinstance(last, RunFinished)
    assert (last.index, last.outcome) == (1, "unknown")
    assert (run.id, run.messages, run.framework, run.format) == ("r1", 2, "AG2", "record")
    assert run.extra["labels"] == {"turn_cap": 9}


def test_a_run_that_used_all_its_turns_ended_at_the_limit(read, jsonl, record):
    assert read(jsonl(record(labels={"turn_cap": 2}))).runs[0].events[-1].outcome == "limit"


def test_thoughts_are_no_events_and_indices_stay(read, jsonl):
    messages = [row(0), row(1, kind="thought"), row(2)]
    assert [e.index for e in events(read, jsonl, messages, MessageSent)] == [0, 2]


def test_rows_without_logged_text_withhold_it(read, jsonl):
    messages = [row(0, ""), row(1, "", kind="no_text_logged"), row(2, None)]
    assert [e.text for e in events(read, jsonl, messages, MessageSent)] == ["", None, None]


def test_the_record_s_own_indices_count(read, jsonl):
    told = events(read, jsonl, [row(3), row(7)])
    assert [e.index for e in told if isinstance(e, MessageSent)] == [3, 7]
    assert told[-1].index == 7


def test_indices_that_do_not_ascend_give_way_to_positions(read, jsonl):
    found = read(jsonl({"id": "r", "messages": [row(1), row(1), row("x")]}))
    assert [e.index for e in found.runs[0].events if isinstance(e, MessageSent)] == [0, 1, 2]
    assert found.problems == [
        "log.jsonl:1: 'index' does not ascend from row to row; rows are numbered by position"
    ]


def test_the_task_giver_opens(read, jsonl):
    messages = [
        row(0, "Policy", "system", "system"),
        row(1, "Please solve: add 2  and 2", "proxy", "user"),
        row(2, "4"),
        row(3, "Go on", "proxy", "user"),
    ]
    kinds = [e.kind for e in events(read, jsonl, messages, MessageSent)]
    assert kinds == ["system", "opener", "reply", "reply"]


def test_a_person_is_told_from_a_proxy(read, jsonl):
    messages = [row(0, "Hi", "user", "user"), row(1), row(2, "And?", "user", "user")]
    sent = events(read, jsonl, messages, MessageSent, framework="custom")
    assert [e.kind for e in sent] == ["human", "reply", "human"]
    assert "human" not in {e.kind for e in events(read, jsonl, messages, MessageSent)}


def test_captain_agent_s_manager_opens_under_an_expert_s_name(read, jsonl):
    sent = events(read, jsonl, [row(0), row(1)], MessageSent, framework="CaptainAgent(AG2)")
    assert [e.kind for e in sent] == ["opener", "reply"]


def test_recipients_come_from_to_and_from_arrows(read, jsonl):
    messages = [row(0, to="b"), row(1, to=["b", "c"]), row(2, kind="-> WebSurfer"), row(3)]
    sent = events(read, jsonl, messages, MessageSent)
    assert [e.recipients for e in sent] == [("b",), ("b", "c"), ("WebSurfer",), ()]


def test_results_pair_with_their_calls_in_order(read, jsonl):
    calls = [{"name": "f", "arguments": {"x": 1}}, {"name": "g", "arguments": "y=2"}]
    messages = [
        row(0, "", "planner", tool_calls=calls),
        row(1, "one", "proxy", "tool"),
        row(2, "two", "proxy", "tool"),
        row(3, "stray", "proxy", "tool"),
    ]
    told = events(read, jsonl, messages)[2:-1]
    assert [type(e) for e in told] == [
        ToolCalled,
        ToolReturned,
        ToolCalled,
        ToolReturned,
        ToolReturned,
    ]
    assert [(e.index, e.agent, e.name) for e in told] == [
        (0, "planner", "f"),
        (1, "planner", "f"),
        (0, "planner", "g"),
        (2, "planner", "g"),
        (3, "planner", ""),
    ]
    assert [e.arguments for e in told if isinstance(e, ToolCalled)] == [{"x": 1}, "y=2"]
    assert {e.id for e in told} == {None}


def test_results_pair_with_their_calls_by_id_or_name(read, jsonl):
    calls = [{"name": n, "arguments": "{}", "id": f"id-{n}"} for n in "fgh"]
    messages = [
        row(0, tool_calls=calls),
        row(1, "two", role="tool", tool_call_id="id-g"),
        row(2, "three", role="tool", tool_name="h"),
        row(3, "one", role="tool"),
    ]
    returned = events(read, jsonl, messages, ToolReturned)
    assert [(e.name, e.call_id) for e in returned] == [
        ("g", "id-g"),
        ("h", "id-h"),
        ("f", "id-f"),
    ]
    assert [e.id for e in events(read, jsonl, messages, ToolCalled)] == ["id-g", "id-h", "id-f"]


def test_calls_without_results_do_not_swallow_later_ones(read, jsonl):
    messages = [
        row(0, tool_calls=[{"name": "lost", "arguments": {}}]),
        row(1, tool_calls=[{"name": "kept", "arguments": {}}]),
        row(2, "done", role="tool"),
    ]
    assert [e.name for e in events(read, jsonl, messages, ToolReturned)] == ["kept"]


def test_ids_that_stand_for_two_things_are_no_ids(read, jsonl):
    calls = [{"name": "f", "arguments": {"page": page}, "id": "call_0"} for page in (1, 2)]
    messages = [
        row(0, tool_calls=calls[:1]),
        row(1, "p1", role="tool", tool_call_id="call_0"),
        row(2, tool_calls=calls[1:]),
        row(3, "p2", role="tool", tool_call_id="call_0"),
        row(4, "same", id="m"),
        row(5, "same", id="m"),
    ]
    told = events(read, jsonl, messages)
    assert {e.id for e in told if isinstance(e, ToolCalled | ToolReturned)} == {None}
    assert [e.id for e in told if isinstance(e, MessageSent)][-2:] == ["m", "m"]
    assert [e.arguments for e in told if isinstance(e, ToolCalled)] == [{"page": 1}, {"page": 2}]


def test_times_are_unix_seconds(read, jsonl):
    messages = [row(0, ts="2025-01-17 11:40:34.802"), row(1, ts=5), row(2, ts="soon")]
    times = [e.at for e in events(read, jsonl, messages, MessageSent)]
    assert times == [1737114034.802, 5.0, None]


def test_model_requests_come_before_their_row(read, jsonl):
    requests = [
        {"before": 1, "agent": "a", "messages": [{"role": "system", "content": "Be brief"}]},
        {"before": 9, "agent": "a", "messages": []},
    ]
    told = events(read, jsonl, [row(0), row(1)], requests=requests)
    assert [type(e) for e in told] == [
        RunStarted,
        MessageSent,
        ModelCalled,
        MessageSent,
        ModelCalled,
        RunFinished,
    ]
    assert told[2].index == 0
    assert [(m.role, m.content) for m in told[2].request] == [("system", "Be brief")]


def test_threads_are_branches_with_a_start_and_an_end(read, jsonl):
    messages = [
        row(i, "Add 2 and 2" if i < 2 else "4", "user" if i < 2 else "a", thread=i % 2)
        for i in range(4)
    ]
    for message in messages[:2]:
        message["role"] = "user"
    told = events(read, jsonl, messages)
    assert [e.branch for e in told if isinstance(e, RunStarted)] == ["", "0", "1"]
    assert [e.branch for e in told if isinstance(e, RunFinished)] == ["0", "1", ""]
    assert [e.kind for e in told if isinstance(e, MessageSent)][:2] == ["opener", "opener"]


def test_a_run_without_id_is_called_by_its_place(read, jsonl, record):
    second = record()
    del second["id"]
    assert read(jsonl(record(), second), name="x/chat.jsonl").runs[1].id == "chat.jsonl#2"


def test_a_list_of_records_is_read_as_its_records(read, jsonl, record):
    assert [r.id for r in read(jsonl([record("a"), record("b")])).runs] == ["a", "b"]
