"""Logs as the systems themselves wrote them: split as another parser splits them."""

from __future__ import annotations

import io
import json

import pytest

from mastwatch.events import MessageSent, ToolReturned
from mastwatch.formats import RecordedRun, read_runs

FOLDERS = {
    "ag2_json": "ag2",
    "ag2_repr_stream": "ag2-repr",
    "appworld_txt": "appworld",
    "chatdev_log": "chatdev",
    "hyperagent": "hyperagent",
    "ma_tot": "ma-tot",
    "magentic_console": "autogen-console",
    "metagpt_comm_log": "metagpt",
    "metagpt_run_json": "metagpt",
    "openmanus_log": "openmanus",
    "peer_review": "peer-review",
    "tau_openai_messages": "openai",
    "whowhen": "who-and-when",
}
MORE = {
    # The other parser stops at the reasoners; that the verifier passes a wrong answer is what the
    # labels of this run are about.
    "ma_tot": 3,
    # The planner sums up at the end of the log; the other parser leaves out the run's answer.
    "openmanus_log": 1,
}
FEWER_CALLS = {
    # An agent ends each step of a plan with ``terminate``; the other parser takes that for a tool.
    "openmanus_log": 4,
}

# Whose rows stand under other names than there: recipients, executors, tools that are agents.
OTHER_NAMES = {"appworld_txt", "openmanus_log"}


@pytest.fixture(scope="module")
def expected(traces):
    return json.loads((traces / "raw" / "expected.json").read_text())


def spoken(run: RecordedRun) -> set[str]:
    """Who stands in the rows; a tool's result is listed under the tool, or as ``tool``."""
    said = {event.sender for event in run.events if isinstance(event, MessageSent)}
    tools = {event.name for event in run.events if isinstance(event, ToolReturned)}
    return said | tools | {thought.agent for thought in run.thoughts}


def test_they_are_split_alike(traces, expected):
    assert expected
    for name, told in expected.items():
        folder = name.split("/")[1]
        (run,) = read_runs(str(traces / name))
        assert isinstance(run, RecordedRun), name
        calls = sum(len(e.tool_calls) for e in run.events if isinstance(e, MessageSent))
        assert run.format == FOLDERS[folder], name
        assert run.messages == told["messages"] + MORE.get(folder, 0), name
        assert calls == told["tool_calls"] - FEWER_CALLS.get(folder, 0), name
        if folder not in OTHER_NAMES:
            assert set(told["agents"]) <= spoken(run), name


def test_inside_a_mast_data_record_they_are_read_alike(traces, expected):
    for name in expected:
        text = (traces / name).read_text()
        record = {"mas_name": "X", "trace_id": 1, "trace": {"trajectory": text}}
        nested = list(read_runs(io.BytesIO(json.dumps([record]).encode()), name="mad.json"))
        alone = list(read_runs(str(traces / name)))
        assert [r.messages for r in nested if isinstance(r, RecordedRun)] == [
            r.messages for r in alone if isinstance(r, RecordedRun)
        ], name


def test_a_decisive_step_is_a_row_of_its_run(traces):
    for path in sorted((traces / "raw" / "whowhen").glob("*.json")):
        (run,) = read_runs(str(path))
        step = run.extra["labels"]["mistake_step"]
        rows = {e.index for e in run.events if isinstance(e, MessageSent)}
        assert step in rows | {thought.index for thought in run.thoughts}
        assert run.extra["success"] is False
        assert run.extra["ground_truth"]
