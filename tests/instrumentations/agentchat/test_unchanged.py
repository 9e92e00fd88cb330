"""An app as it is, under ``mastwatch run``: what it prints, what is exported, what is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from apps.unchanged import Ran, run_unchanged
from mastwatch.store.trace import Trace

APP = Path(__file__).with_name("app.py")

pytestmark = pytest.mark.slow


def newsroom(ran: Ran) -> Trace:
    (trace,) = ran.traces
    return trace


@pytest.mark.parametrize("mode", ["", "loop"])
def test_app_prints_what_it_printed_before(tmp_path: Path, mode: str) -> None:
    plain = run_unchanged(APP, tmp_path, mode, plain=True)
    ran = run_unchanged(APP, tmp_path, mode)

    assert plain.returncode == 0, plain.stderr
    assert (ran.returncode, ran.stdout) == (plain.returncode, plain.stdout)
    carriers = [span for span in ran.spans if "mastwatch.message.index" in span.attributes]
    rows = newsroom(ran).rows
    results = [row for row in rows if row.tool]
    assert len(carriers) == len(rows) - len(results) == (7 if mode else 4)
    assert len(ran.named("execute_tool")) == len(results) == (6 if mode else 2)
    assert len(ran.named("invoke_workflow")) == 1
    assert len(ran.named("invoke_agent")) == 2


def test_healthy_app_has_no_findings(tmp_path: Path) -> None:
    ran = run_unchanged(APP, tmp_path)

    trace = newsroom(ran)
    assert trace.findings == ()
    assert (trace.framework, trace.outcome) == ("agentchat", "completed")
    assert trace.reason == "Text 'PUBLISH' mentioned"
    asked = [(row.agent, c.name, c.arguments) for row in trace.rows for c in row.tool_calls]
    assert asked == [
        ("researcher", "search", {"query": "harbour cranes"}),
        ("researcher", "search", {"query": "harbour tides"}),
    ]
    assert [row.text for row in trace.rows if row.tool] == [
        "One note about harbour cranes.",
        "One note about harbour tides.",
    ]


def test_spans_are_autogens_own_where_it_has_them(tmp_path: Path) -> None:
    ran = run_unchanged(APP, tmp_path)

    scopes = {name: {s.scope for s in ran.named(name)} for name in ("invoke_agent", "execute_tool")}
    assert scopes == {"invoke_agent": {"autogen-core"}, "execute_tool": {"autogen-core"}}
    root = ran.named("invoke_workflow")[0]
    for span in (*ran.named("invoke_agent"), *ran.named("execute_tool"), *ran.named("chat")):
        assert span.trace_id == root.trace_id
        assert span.attributes["mastwatch.run.id"] == root.attributes["mastwatch.run.id"]
        assert span.attributes["gen_ai.agent.name"] in ("researcher", "editor")
    assert any(span.scope.startswith("autogen Single") for span in ran.spans)


def test_runtime_spans_can_be_silenced(tmp_path: Path) -> None:
    ran = run_unchanged(APP, tmp_path, env={"AUTOGEN_DISABLE_RUNTIME_TRACING": "true"})

    assert {span.scope for span in ran.spans} == {"autogen-core", "mastwatch"}
    assert len(ran.named("execute_tool")) == 2


def test_loop_is_flagged_live(tmp_path: Path) -> None:
    ran = run_unchanged(APP, tmp_path, "loop")

    trace = newsroom(ran)
    found = [finding for finding in trace.findings if finding.mode == "FM-1.3"]
    assert {finding.agent for finding in found} == {"researcher"}
    assert found[0].message_index < trace.rows[-1].index  # while the run was going
    assert "FM-1.3" in ran.stderr
    assert any("mastwatch.finding" in span.events for span in ran.spans)
