"""Libraries that trace themselves, watched live by their spans: apps under ``mastwatch run``."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from apps.unchanged import Ran, run_unchanged

APPS = Path(__file__).parent / "apps"
CONTENT = {
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY",  # of Google ADK
    "ENABLE_SENSITIVE_DATA": "true",  # of agent-framework
    "MASTWATCH_FRAMEWORKS": "pydantic_ai",  # AG2 by its spans alone
}
ASKED, FOUND = "lookup_order", "Order A-17 left the warehouse on Monday."
CLERK = [("clerk", "", ASKED), ("clerk", FOUND, "result")]
HEALTHY = {
    "strands": [
        ("planner", "", "ask_clerk"),
        *CLERK,
        ("clerk", "The order left the warehouse on Monday.", ""),
        ("planner", "The order left the warehouse on Monday.", "result"),
        ("planner", "Your order is on its way since Monday.", ""),
    ],
    "agent_framework": [
        ("planner", "Clerk, please look up order A-17.", ""),
        *CLERK,
        ("clerk", "Your order is on its way since Monday.", ""),
    ],
    "mcp": [*CLERK, ("clerk", "The order left the warehouse on Monday.", "")],
}
HEALTHY["pydantic_ai"] = HEALTHY["strands"]
HEALTHY["ag2"] = [("planner", "", "task_clerk"), *HEALTHY["strands"][1:]]
HEALTHY["google_adk"] = [("planner", "", "clerk"), *HEALTHY["strands"][1:]]
LIBRARIES = {
    "strands": "strands",
    "pydantic_ai": "pydantic_ai",
    "google_adk": "google.adk",
    "agent_framework": "agent_framework",
    "mcp": "mcp",
    "ag2": "ag2",
}


def present(library: str) -> bool:
    try:
        return find_spec(library) is not None
    except ModuleNotFoundError:
        return False


pytestmark = pytest.mark.slow
each = pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.skipif(not present(library), reason="not installed"))
        for name, library in LIBRARIES.items()
    ],
)


def transcript(ran: Ran) -> list[tuple[str, str | None, str]]:
    """Who said what and asked for what; of tool calls what came back."""
    (trace,) = ran.traces
    return [
        (
            row.agent,
            row.text,
            "result" if row.kind == "tool" else ",".join(call.name for call in row.tool_calls),
        )
        for row in trace.rows
    ]


@each
def test_healthy(name: str, tmp_path: Path) -> None:
    app = APPS / f"{name}_app.py"
    plain = run_unchanged(app, tmp_path, plain=True, env=CONTENT)
    ran = run_unchanged(app, tmp_path, env=CONTENT)
    assert (ran.returncode, ran.stdout) == (plain.returncode, plain.stdout) == (0, plain.stdout)
    assert transcript(ran) == HEALTHY[name]
    (trace,) = ran.traces
    assert (trace.outcome, trace.findings) == ("completed", ())
    assert trace.framework == ("strands" if name == "mcp" else name)
    assert trace.task == "Where is my order A-17, please?"


@each
def test_repetition_is_flagged_live(name: str, tmp_path: Path) -> None:
    ran = run_unchanged(APPS / f"{name}_app.py", tmp_path, "loop", env=CONTENT)
    assert ran.returncode == 0, ran.stderr
    (trace,) = ran.traces
    (finding,) = trace.findings
    assert (finding.mode, finding.agent, finding.tool) == ("FM-1.3", "clerk", "lookup_order")
    assert finding.message_index < trace.rows[-1].index, "before the run was over"
    assert "FM-1.3" in ran.stderr


@pytest.mark.parametrize("name", ["google_adk", "agent_framework"])
def test_without_content_the_structure_is_there(name: str, tmp_path: Path) -> None:
    if not present(LIBRARIES[name]):
        pytest.skip("not installed")
    ran = run_unchanged(APPS / f"{name}_app.py", tmp_path)
    (trace,) = ran.traces
    tools = [(row.agent, row.tool, row.text) for row in trace.rows if row.kind == "tool"]
    assert ("clerk", "lookup_order", None) in tools
    assert not any(row.text for row in trace.rows)
