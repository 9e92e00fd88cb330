"""``mastwatch run app.py``: an ordinary app of two agents, not changed for us."""

from __future__ import annotations

from pathlib import Path

import pytest

from apps.unchanged import Ran, run_unchanged

APP = Path(__file__).with_name("app.py")
pytestmark = pytest.mark.slow


def watched(folder: Path, *args: str) -> Ran:
    """Run the app watched; what it prints and how it exits is as without us."""
    ran = run_unchanged(APP, folder, *args)
    plain = run_unchanged(APP, folder, *args, plain=True)
    assert (ran.returncode, ran.stdout) == (plain.returncode, plain.stdout)
    assert plain.stdout == "Go to Bonn: sun and the Beethoven-Haus.\n"
    return ran


def test_a_healthy_app_is_seen_whole_and_nothing_is_found(tmp_path: Path) -> None:
    ran = watched(tmp_path)

    (trace,) = ran.traces
    assert [
        (row.agent, row.kind, [call.name for call in row.tool_calls]) for row in trace.rows
    ] == [
        ("Researcher", "reply", ["weather"]),
        ("Researcher", "tool", []),
        ("Researcher", "reply", ["museums"]),
        ("Researcher", "tool", []),
        ("Researcher", "reply", ["handoff"]),
        ("Researcher", "tool", []),
        ("Writer", "reply", []),
    ]
    assert trace.rows[0].tool_calls[0].arguments == {"city": "Bonn"}
    assert trace.rows[1].text == "Bonn: sunny, 21 degrees"
    assert trace.rows[3].text == "Bonn: Kunstmuseum, Beethoven-Haus"
    assert (trace.framework, trace.outcome, trace.reason) == (
        "llama_index",
        "completed",
        "StopEvent",
    )
    carried = [span.attributes.get("mastwatch.message.index") for span in ran.spans]
    assert sorted(index for index in carried if index is not None) == [0, 2, 4, 6]
    assert len(ran.named("execute_tool")) == 3
    assert len({span.trace_id for span in ran.spans}) == 1
    assert "event='finding'" not in ran.stderr
    assert trace.findings == ()


def test_an_agent_that_goes_in_circles_is_found_while_it_does(tmp_path: Path) -> None:
    ran = watched(tmp_path, "loop")

    (trace,) = ran.traces
    assert {(f.mode, f.agent) for f in trace.findings} == {("FM-1.3", "Researcher")}
    assert trace.findings[0].message_index < trace.rows[-1].index
    assert "mode='FM-1.3'" in ran.stderr
    assert "agent='Researcher'" in ran.stderr
    assert len(ran.named("execute_tool")) == 7
