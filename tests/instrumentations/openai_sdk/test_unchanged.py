"""``mastwatch run app.py``: a home-grown team over the bare SDK, not changed for us."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from apps.unchanged import Ran, run_unchanged

APP = Path(__file__).with_name("app.py")

pytestmark = pytest.mark.slow


def _run(folder: Path, mode: str) -> Ran:
    plain = run_unchanged(APP, folder, mode, plain=True)
    ran = run_unchanged(APP, folder, mode)
    assert (ran.returncode, ran.stdout) == (plain.returncode, plain.stdout)
    assert plain.returncode == 0
    assert len(ran.traces) == 1
    rows = ran.traces[0].rows
    carriers = [span for span in ran.spans if "mastwatch.message.index" in span.attributes]
    assert len(carriers) == len([row for row in rows if not row.tool])
    assert len(ran.named("execute_tool")) == len([row for row in rows if row.tool])
    assert len(ran.named("invoke_workflow")) == 1
    assert len({span.trace_id for span in ran.spans}) == 1
    assert len(ran.named("chat")) == len(carriers)
    return ran


def test_a_healthy_team(tmp_path: Path) -> None:
    ran = _run(tmp_path, "")
    (trace,) = ran.traces
    assert (trace.framework, trace.outcome, trace.reason) == (
        "openai",
        "completed",
        "no further call",
    )
    assert not trace.findings
    assert trace.task == "What is known of the old crane?"
    assert [row.agent for row in trace.rows if not row.tool] == [
        "assistant",
        "assistant",
        "assistant",
        "assistant-2",
        "assistant-3",
    ]
    asked = [call.arguments for row in trace.rows for call in row.tool_calls]
    assert asked == [{"query": "harbour crane"}, {"query": "north quay"}]
    assert [row.text for row in trace.rows if row.tool] == [
        "One page on the harbour crane, of 1863.",
        "One page on the north quay, of 1863.",
    ]


def test_a_loop_is_flagged_while_it_goes_on(tmp_path: Path) -> None:
    ran = _run(tmp_path, "loop")
    (trace,) = ran.traces
    found = [finding for finding in trace.findings if finding.mode == "FM-1.3"]
    assert found
    assert {finding.agent for finding in found} == {"assistant"}
    assert found[0].message_index < trace.rows[-1].index
    assert "FM-1.3" in ran.stderr
    assert any("mastwatch.finding" in span.events for span in ran.spans)


def test_the_summary_at_the_end_says_how_it_ended() -> None:
    command = [sys.executable, "-m", "mastwatch.cli", "run", "--live", str(APP)]
    env = {**os.environ, "MASTWATCH_PROMETHEUS_PORT": "0"}
    done = subprocess.run(
        command, env=env, capture_output=True, text=True, timeout=120, check=False
    )
    summary = done.stderr.partition("\nsummary\n")[2].splitlines()
    assert "(openai): completed, 5 messages, 2 tool calls" in summary[0]
