"""Exports of tracing tools: OTLP, LangSmith, Langfuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from formats.samples import SAMPLES, runs
from mastwatch.events import MessageSent, ModelCalled, RunFinished, ToolCalled, ToolReturned
from mastwatch.formats import RecordedRun, read_runs
from mastwatch.formats.traced import gathering

RECORDINGS = Path(__file__).parents[1] / "dialects" / "data"


def of(run, kind):
    return [event for event in run.events if isinstance(event, kind)]


@pytest.mark.parametrize("name", ["otlp.jsonl", "langsmith.jsonl", "langfuse.json"])
def test_a_clerk_and_a_tool(name):
    (run,) = runs(name)
    assert [(m.index, m.sender, m.text) for m in of(run, MessageSent)] == [
        (0, "clerk", ""),
        (2, "clerk", "It is on the road."),
    ]
    (call,), (result,) = of(run, ToolCalled), of(run, ToolReturned)
    assert (call.agent, call.name, call.arguments) == ("clerk", "track", {"parcel": "P-7"})
    assert (result.index, result.result) == (1, "on the road")
    assert len(of(run, ModelCalled)) == 2
    assert of(run, RunFinished)[0].outcome == "completed"
    assert run.messages == 3


def test_what_the_bridge_is_tested_with_is_read_from_its_files():
    (run,) = read_runs(str(RECORDINGS / "langsmith.jsonl"))
    assert isinstance(run, RecordedRun)
    assert (run.framework, run.messages) == ("langchain", 7)


def test_one_document_is_read_as_lines_are(read):
    lines = [json.loads(line) for line in (SAMPLES / "otlp.jsonl").read_text().splitlines()]
    whole = {"resourceSpans": [group for line in lines for group in line["resourceSpans"]]}
    (run,) = read(json.dumps(whole, indent=1).encode(), name="otlp.json").runs
    assert run.messages == 3


def test_child_runs_and_a_list_are_read_as_lines_are(read):
    lines = [json.loads(line) for line in (SAMPLES / "langsmith.jsonl").read_text().splitlines()]
    root, *children = lines
    for form in (lines, {"runs": lines}, {**root, "child_runs": children}):
        (run,) = read(json.dumps(form).encode(), name="runs.json").runs
        assert (run.id, run.messages) == (root["id"], 3)


def test_observations_alone(read):
    export = json.loads((SAMPLES / "langfuse.json").read_text())
    (run,) = read(json.dumps({"data": export["observations"]}).encode(), name="o.json").runs
    assert (run.id, run.messages) == ("lf-1", 3)


def test_broken_parts_cost_only_themselves(read, jsonl):
    good = [json.loads(line) for line in (SAMPLES / "otlp.jsonl").read_text().splitlines()]
    bad = {"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": 1}]}]}]}
    found = read(jsonl(bad, *good, {"resourceLogs": []}))
    assert [run.messages for run in found.runs] == [3]
    assert found.problems == ["log.jsonl:1: is no OTLP request of spans; skipped"]


def test_a_file_without_agents_says_so(read, jsonl):
    span = {"traceId": "1", "spanId": "2", "name": "GET /"}
    found = read(jsonl({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}))
    assert found.problems == [
        "log.jsonl: none of its 1 traces tells of an agent, a model or a tool"
    ]


def test_a_trace_that_was_quiet_for_too_long_is_two_runs(read, jsonl, monkeypatch):
    monkeypatch.setattr(gathering, "MAX_KEPT", 1)
    first, *rest = (SAMPLES / "otlp.jsonl").read_text().splitlines()
    other = first.replace("0af7651916cd43dd8448eb211c80319c", "1" * 32)
    found = read(jsonl(*(json.loads(line) for line in (first, other, *rest))))
    assert any("goes on far behind its beginning" in problem for problem in found.problems)
    assert len(found.runs) == 3
