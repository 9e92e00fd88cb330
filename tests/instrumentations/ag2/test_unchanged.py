"""An AG2 app as it is, under ``mastwatch run``: what it prints, what is exported, what is found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from apps.unchanged import Ran, run_unchanged
from mastwatch.store.trace import Trace, TraceRow

APP = Path(__file__).with_name("app.py")

pytestmark = pytest.mark.slow


def newsroom(ran: Ran) -> Trace:
    return next(t for t in ran.traces if "conversation" in t.name)


def told(trace: Trace) -> list[Any]:
    """The transcript, without what differs from run to run."""
    return [
        (row.index, row.agent, row.kind, row.text, calls(row), row.tool, row.error, row.recipients)
        for row in trace.rows
    ]


def calls(row: TraceRow) -> list[tuple[str, object]]:
    return [(call.name, call.arguments) for call in row.tool_calls]


@pytest.mark.parametrize("mode", ["", "loop"])
def test_app_prints_what_it_printed_before(tmp_path: Path, mode: str) -> None:
    plain = run_unchanged(APP, tmp_path, mode, plain=True)
    ran = run_unchanged(APP, tmp_path, mode)

    assert (ran.returncode, ran.stdout) == (plain.returncode, plain.stdout) == (0, plain.stdout)
    assert len(ran.traces) == 2
    carriers = [span for span in ran.spans if "mastwatch.message.index" in span.attributes]
    results = [row for trace in ran.traces for row in trace.rows if row.tool]
    messages = [row for trace in ran.traces for row in trace.rows if not row.tool]
    assert len(carriers) == len(messages) == (11 if mode else 8)
    assert len(ran.named("execute_tool")) == len(results) == (7 if mode else 4)
    assert len(ran.named("invoke_workflow")) == 2
    assert {span.trace_id for span in ran.spans if not span.parent_id} == {
        span.trace_id for span in ran.spans
    }


def test_healthy_app_has_no_findings(tmp_path: Path) -> None:
    ran = run_unchanged(APP, tmp_path)

    assert [finding for trace in ran.traces for finding in trace.findings] == []
    trace = newsroom(ran)
    assert (trace.framework, trace.outcome, trace.reason) == ("ag2", "completed", "published")
    asked = [(row.agent, *call) for row in trace.rows if not row.tool for call in calls(row)]
    assert asked == [
        ("researcher", "search", {"query": "harbour cranes"}),
        ("researcher", "search", {"query": "harbour tides"}),
        ("editor", "save", {"title": "cranes-of-1863"}),
    ]
    assert next(row.text for row in trace.rows if row.tool) == "A note about harbour cranes."
    assert {s.attributes["gen_ai.agent.name"] for s in ran.named("invoke_agent")} == {
        *("editor", "researcher", "guide", "local")
    }


def test_loop_is_flagged_live(tmp_path: Path) -> None:
    ran = run_unchanged(APP, tmp_path, "loop")

    found = [f for f in newsroom(ran).findings if f.mode == "FM-1.3"]
    assert found
    assert {finding.agent for finding in found} == {"researcher"}
    assert found[0].message_index < newsroom(ran).rows[-1].index  # while the run was going
    assert "FM-1.3" in ran.stderr
    assert any("mastwatch.finding" in span.events for span in ran.spans)


@pytest.mark.parametrize("mode", ["", "loop"])
def test_ag2s_own_tracing_changes_nothing_that_is_told(tmp_path: Path, mode: str) -> None:
    (tmp_path / "traced").mkdir()
    ran = run_unchanged(APP, tmp_path, mode)
    traced = run_unchanged(APP, tmp_path / "traced", mode, "traced")

    assert traced.stdout == ran.stdout
    for name in ("newsroom", "tour"):
        mine, theirs = (_named(each, name) for each in (ran, traced))
        assert told(theirs) == told(mine)
        assert (theirs.outcome, theirs.reason) == (mine.outcome, mine.reason)
        assert [_finding(f) for f in theirs.findings] == [_finding(f) for f in mine.findings]
    ours = [span.name for span in traced.spans if span.scope == "mastwatch"]
    assert {name.split()[0] for name in ours} <= {"agent_message"}
    assert len(traced.named("execute_tool")) == len(ran.named("execute_tool"))
    assert len(traced.named("invoke_agent")) == len(ran.named("invoke_agent"))


def _named(ran: Ran, name: str) -> Trace:
    return next(t for t in ran.traces if ("conversation" in t.name) == (name == "newsroom"))


def _finding(finding: Any) -> tuple[Any, ...]:
    return (
        finding.mode,
        finding.severity,
        finding.agent,
        finding.message_index,
        finding.evidence,
        finding.fingerprint,
    )
