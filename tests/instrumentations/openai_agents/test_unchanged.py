"""An app of the SDK under ``mastwatch run``: it prints the same, and everything of it is seen."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from apps.unchanged import run_unchanged

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_spec("agents.testing") is None, reason="this SDK has no scripted model"
    ),
]
APP = Path(__file__).with_name("app.py")


@pytest.mark.parametrize("loop", [False, True])
def test_app_is_seen_and_prints_the_same(tmp_path: Path, loop: bool) -> None:
    args = ["loop"] if loop else []
    plain = run_unchanged(APP, tmp_path, *args, plain=True)
    ran = run_unchanged(APP, tmp_path, *args)
    assert plain.returncode == 0, plain.stderr
    assert (ran.returncode, ran.stdout) == (plain.returncode, plain.stdout), ran.stderr
    [trace] = ran.traces
    said = [row for row in trace.rows if not row.tool]
    results = [row for row in trace.rows if row.tool]
    carriers = [span for span in ran.spans if "mastwatch.message.index" in span.attributes]
    assert len(carriers) == len(said)
    assert len(ran.named("execute_tool")) == len(results)
    assert len(ran.named("invoke_workflow")) == 1
    assert {span.trace_id for span in ran.spans} == {ran.spans[0].trace_id}
    numbers = ["A-17"] * 5 if loop else ["A-17", "B-20"]
    assert [(row.agent, row.text, row.recipients) for row in said if not row.branch] == [
        ("desk", "", ("clerk",)),
        *[("clerk", "", ())] * (len(numbers) + 1),
        ("clerk", "Your parcels arrive within two days.", ()),
    ]
    assert [(row.agent, row.text, row.recipients) for row in said if row.branch] == [
        ("expert", "Parcels to Ulm take two days.", ("clerk",))
    ]
    asked = [(call.name, call.arguments) for row in said for call in row.tool_calls]
    assert asked[1:-1] == [("find_order", {"number": number}) for number in numbers]
    assert [row.text for row in results if row.tool == "find_order"] == [
        f"Order {number} is on its way." for number in numbers
    ]
    assert trace.task == "Where are my parcels?"
    assert (trace.framework, trace.outcome, trace.reason) == (
        "openai_agents",
        "completed",
        "final output",
    )
    repeated = [finding for finding in trace.findings if finding.mode == "FM-1.3"]
    live = [line for line in ran.stderr.splitlines() if "FM-1.3" in line]
    if loop:
        assert {finding.agent for finding in repeated} == {"clerk"}
        assert "clerk" in live[0]
        assert any("mastwatch.finding" in span.events for span in ran.spans)
    else:
        assert not trace.findings
        assert not live
