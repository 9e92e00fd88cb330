"""Our own record written: what is read from it again is the same, to the last Event."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from mastwatch.events import (
    Contract,
    Event,
    HandedOff,
    HumanAsked,
    MessageSent,
    ModelCalled,
    RequestMessage,
    RunFinished,
    RunStarted,
    ToolCalled,
    ToolRequest,
    ToolReturned,
)
from mastwatch.formats import RecordedRun, Where, read_runs
from mastwatch.formats.recorded import Thought
from mastwatch.formats.writing import as_line, to_record

from .telling import LOGS


def again(run: RecordedRun) -> RecordedRun:
    """The run, written and read."""
    [read] = read_runs(io.BytesIO(as_line(to_record(run)).encode()), name="again.jsonl")
    assert isinstance(read, RecordedRun), read
    return read


def same(run: RecordedRun) -> None:
    read = again(run)
    assert read.events == run.events
    assert (read.id, read.messages, read.thoughts) == (run.id, run.messages, run.thoughts)
    kept = {key: run.extra[key] for key in ("success", "labels") if key in run.extra}
    assert {key: read.extra[key] for key in kept} == kept


def runs(path: Path) -> list[RecordedRun]:
    return [item for item in read_runs(path) if isinstance(item, RecordedRun)]


@pytest.mark.parametrize("name", sorted(path.name for path in LOGS.iterdir()))
def test_our_own_logs_come_back_as_they_were(name):
    assert runs(LOGS / name)
    for run in runs(LOGS / name):
        same(run)


@pytest.mark.slow
def test_all_recorded_runs_come_back_as_they_were(traces):
    files = [*sorted((traces / "raw").glob("*/*")), *sorted((traces / "dev").glob("*.gz"))]
    for path in files:
        for run in runs(path):
            same(run)


def recorded(*events: Event, **more: object) -> RecordedRun:
    return RecordedRun(
        id="r", where=Where("x"), format="test", framework="f", events=events, messages=4, **more
    )


START = RunStarted(run_id="r", name="n", framework="f", at=1.5, task="Do it")
END = RunFinished(run_id="r", index=3, at=9.0, outcome="limit", reason="max_round")


def test_prompts_contract_errors_branches_requests_and_thoughts_are_rows_of_the_record():
    call = ToolRequest(name="pay", arguments={"n": 1}, call_id="c1")
    asked = (RequestMessage(role="user", content="Pay", name="A"),)
    contract = Contract(tokens=("STOP",), max_messages=9, votes=2, source="app")
    run = recorded(
        RunStarted(
            run_id="r",
            name="n",
            framework="f",
            task="Do it",
            prompts={"A": "You pay."},
            contract=contract,
        ),
        ModelCalled(
            run_id="r",
            index=-1,
            agent="A",
            turn="t",
            model="m",
            request=asked,
            text="",
            seconds=0.5,
        ),
        ModelCalled(run_id="r", index=-1, agent="A", error="openai.APIError"),
        MessageSent(
            run_id="r", index=0, sender="A", recipients=("B", "C"), text="", tool_calls=(call,)
        ),
        ToolCalled(
            run_id="r", index=0, agent="A", name="pay", arguments={"n": 1}, call_id="c1", id="c1"
        ),
        ToolReturned(
            run_id="r", index=2, agent="A", name="pay", call_id="c1", id="c1", error="HTTP 500"
        ),
        RunFinished(run_id="r", index=3, outcome="limit", reason="max_round"),
        thoughts=(Thought(1, "A", "I pay."),),
    )
    same(run)
    assert "events" not in to_record(run)


@pytest.mark.parametrize(
    "event",
    [
        HandedOff(run_id="r", index=0, source="A", target="B"),
        HumanAsked(run_id="r", index=0, agent="A", at=3.0),
        ToolCalled(run_id="r", index=0, agent="A", name="t", arguments=[1, {"x": None}], poll=True),
        RunStarted(run_id="r", resumed=True, tags={"a": "b"}, contract=Contract(tokens=("X",))),
        ModelCalled(run_id="r", index=0, request=(RequestMessage(role="user", content=None),)),
        ToolReturned(run_id="r", index=0, agent="A", name="t", seconds=0.25),
    ],
)
def test_what_rows_cannot_tell_stands_beside_them(event):
    said = MessageSent(run_id="r", index=0, sender="A", text="Hi", at=2.0)
    run = recorded(START, said, event, END)
    same(run)
    assert "events" in to_record(run)


@pytest.mark.parametrize(
    ("events", "told"),
    [
        ("no list", "is text, not a list of events"),
        ([], "is a list, not a list of events"),
        ([{"type": "Nothing"}], "'type' is none of "),
        ([{"type": "HandedOff", "index": "one"}], "'index' is text, which it cannot be"),
        ([{"type": "HandedOff", "index": 1}], "a field of HandedOff is missing"),
        ([{"type": "HandedOff", "colour": 1}], "HandedOff has no field 'colour'"),
        ([{"type": "RunFinished", "outcome": "won"}], "'outcome' is text, which it cannot be"),
    ],
)
def test_broken_events_leave_the_messages(read, events, told):
    said = MessageSent(run_id="r", index=0, sender="A", text="Hi")
    record = {**to_record(recorded(START, said, END)), "events": events}
    found = read(json.dumps(record).encode())
    assert [run.messages for run in found.runs] == [4]
    [problem] = found.problems
    assert told in problem
    assert problem.endswith("; the messages are read instead")


def test_the_cap_of_a_run_that_has_none_is_not_taken_from_its_labels():
    run = recorded(START, END, extra={"labels": {"turn_cap": 3}})
    assert again(run).events == run.events
