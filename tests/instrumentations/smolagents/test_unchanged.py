"""An app of smolagents under ``mastwatch run``: it prints the same, and everything is seen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from apps.unchanged import run_unchanged

pytestmark = pytest.mark.slow
APP = Path(__file__).with_name("app.py")
DURATION = re.compile(r"Duration [\d.]+ seconds")
"""What smolagents prints that differs from run to run."""


@pytest.mark.parametrize("loop", [False, True])
def test_app_is_seen_and_prints_the_same(tmp_path: Path, loop: bool) -> None:
    args = ["loop"] if loop else []
    plain = run_unchanged(APP, tmp_path, *args, plain=True)
    ran = run_unchanged(APP, tmp_path, *args)
    assert plain.returncode == ran.returncode == 0, plain.stderr
    assert DURATION.sub("", ran.stdout) == DURATION.sub("", plain.stdout)
    [trace] = ran.traces
    said = [row for row in trace.rows if not row.tool]
    results = [row for row in trace.rows if row.tool]
    carriers = [span for span in ran.spans if "mastwatch.message.index" in span.attributes]
    assert len(carriers) == len(said)
    assert len(ran.named("execute_tool")) == len(results)
    assert len(ran.named("invoke_workflow")) == 1
    assert {span.trace_id for span in ran.spans} == {ran.spans[0].trace_id}
    queries = ["harbour cranes"] * 5 if loop else ["harbour cranes", "harbour tides"]
    scouted = [row for row in said if row.branch]
    assert {row.agent for row in scouted} == {"scout"}
    assert scouted[-1].text == "The cranes came in 1863."
    assert [(c.name, c.arguments) for row in scouted for c in row.tool_calls] == [
        ("search", {"query": query}) for query in queries
    ]
    assert [row.text for row in results if row.tool == "search"] == [
        f"A note about {query}." for query in queries
    ]
    managed = [row for row in said if not row.branch]
    assert [row.agent for row in managed] == ["manager"] * 4
    assert managed[-1].text == "The cranes came in 1863, in five words."
    assert [row.tool for row in results if not row.branch] == [
        "scout",
        "python_interpreter",
        "count",
        "python_interpreter",
        "python_interpreter",
    ]
    assert (trace.framework, trace.task, trace.outcome, trace.reason) == (
        "smolagents",
        "When did the cranes come?",
        "completed",
        "final answer",
    )
    repeated = [finding for finding in trace.findings if finding.mode == "FM-1.3"]
    live = [line for line in ran.stderr.splitlines() if "FM-1.3" in line]
    if loop:
        assert {finding.agent for finding in repeated} == {"scout"}
        assert "scout" in live[0]
        assert any("mastwatch.finding" in span.events for span in ran.spans)
    else:
        assert not trace.findings
        assert not live
