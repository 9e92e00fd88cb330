"""MAST-Data and AdaMAST: logs inside records."""

from __future__ import annotations

import json

from formats.samples import SAMPLES, problems, runs
from mastwatch.events import RunStarted


def test_a_log_is_read_as_what_it_is():
    known, unknown = runs("mast-data.json")
    assert (known.id, known.format, known.messages) == (
        "Magentic:a-model:Ferries:4", "mast-data", 5,
    )  # fmt: skip
    assert known.framework == "magentic-one"
    assert known.extra["labels"] == {"fm": {"1.1": 0, "1.3": 1}}
    assert unknown.framework == "Unheard"
    assert [p for p in problems("mast-data.json") if "no format known" in p] == [
        ": record 2: its trajectory is in no format known here; read as plain text"
    ]


def test_a_problem_inside_has_the_line_of_the_trajectory(read):
    log = "---------- ToolCallRequestEvent (a) ----------\n[FunctionCall(\n"
    pair = [{"mas_name": "m", "trace_id": n, "trace": {"trajectory": "\n" + log}} for n in (1, 2)]
    found = read(json.dumps(pair, indent=1).encode(), name="mad.json")
    assert found.problems == [
        "mad.json: record 1: line 2 of its trajectory: "
        "the tool calls here cannot be read; kept as text",
        "mad.json: record 2: line 2 of its trajectory: "
        "the tool calls here cannot be read; kept as text",
    ]


def test_trace_may_be_the_text_itself_and_an_empty_one_is_told(read, jsonl):
    text = (SAMPLES / "autogen-console.bench.txt").read_text()
    good = {"mas_name": "m", "trace_id": 1, "trace": text, "annotations": [{"failure mode": "1.1"}]}
    found = read(jsonl(good, {"mas_name": "m", "trace": {}}))
    assert [run.messages for run in found.runs] == [5]
    assert found.runs[0].extra["labels"] == {"annotations": [{"failure mode": "1.1"}]}
    assert found.problems == ["log.jsonl:2: has no log under 'trace'; skipped"]


def test_adamast_with_a_raw_trajectory_or_messages():
    raw, listed = runs("adamast.jsonl")
    assert (raw.id, raw.framework, raw.messages) == ("p-1", "greeters", 3)
    assert [e.task for e in raw.events if isinstance(e, RunStarted)] == ["Say hello"]
    assert (listed.id, listed.messages, listed.extra["success"]) == ("demo-1", 2, False)
