"""Traces and stores that the tests here share."""

from __future__ import annotations

import pytest

from mastwatch.events import Contract, ToolRequest
from mastwatch.findings import Finding, Notice, Severity
from mastwatch.store import Evidence, ModelInput, Report, Trace, TraceRow, Usage, Verdict
from mastwatch.store.sqlite import SqliteStore


class Clock:
    """Unix seconds that pass when the test says so."""

    def __init__(self, now: float = 1_760_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path, clock):
    store = SqliteStore(tmp_path / "state" / "runs.sqlite", clock=clock)
    yield store
    store.close()


@pytest.fixture
def full() -> Trace:
    """A trace with something in every field."""
    return Trace(
        run_id="r1",
        rows=(
            TraceRow(
                index=0,
                agent="Planner",
                text="Let us look. \ud800 \x00 語",
                tool_calls=(ToolRequest(name="search", arguments={"q": [1, None]}, call_id="c"),),
                recipients=("Clerk",),
                at=1.5,
                span_id="0" * 15 + "1",
                branch="1",
            ),
            TraceRow(index=1, agent="Planner", kind="tool", text="", tool="search", error="500"),
        ),
        inputs=(ModelInput(before=1, agent="Planner", role="user", text="Hint", times=3),),
        name="support",
        framework="autogen",
        task="Find it",
        conversation_id="c1",
        user_id="u1",
        tags={"tenant": "acme"},
        contract=Contract(tokens=("STOP",), max_messages=9),
        prompts={"Planner": "You plan."},
        tools={"Planner": ("search",)},
        release="1.2",
        environment="test",
        started=1.0,
        ended=2.0,
        outcome="limit",
        reason="round limit",
        error="ValueError",
        findings=(
            Finding(
                mode="FM-1.3", severity=Severity.WARN, detector="step_repetition", run_id="r1",
                agent="Planner", message_index=1, evidence=(0, 1), explanation="Twice.",
                fingerprint="f",
            ),
        ),
        notices=(Notice(name="replan", run_id="r1", message_index=1, explanation="Again."),),
        success=False,
        score=0.5,
        expected="42",
        comment="no",
        trace_id="a" * 32,
        span_id="b" * 16,
        left_out=2,
        extra={"label": [1]},
    )  # fmt: skip


@pytest.fixture
def report() -> Report:
    return make_report("r1")


def make_report(run_id: str) -> Report:
    """A report with one mode in it."""
    verdict = Verdict(
        slug="step_repetition", mode="FM-1.3", verdict="present", confidence=0.5, why="Twice.",
        evidence=(Evidence(message_index=0, quote="Let us look."),), votes="2/3",
    )  # fmt: skip
    return Report(
        run_id=run_id,
        verdicts={"step_repetition": verdict},
        usage=Usage(calls=1),
        problems=("slow",),
        created=5.0,
    )
