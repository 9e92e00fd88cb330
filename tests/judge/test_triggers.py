"""Which finished runs get a job: failed, found out live, or sampled; never one that waits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mastwatch.findings import Finding, Severity
from mastwatch.judge.settings import JudgeSettings
from mastwatch.judge.triggers import sampled, trigger
from mastwatch.store import Trace

NONE = JudgeSettings(sample=0.0)
HEALTHY = Trace(run_id="run-1", outcome="completed")


def finding(severity: Severity) -> Finding:
    return Finding(
        mode="FM-1.3",
        severity=severity,
        detector="d",
        run_id="run-1",
        agent="a",
        message_index=1,
        evidence=(0, 1),
        explanation="",
        fingerprint="f",
    )


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, None),
        ({"success": False}, "outcome"),
        ({"outcome": "error"}, "outcome"),
        ({"outcome": "limit"}, "outcome"),
        ({"outcome": "limit", "success": True}, None),
        ({"outcome": "cancelled"}, None),
        ({"findings": (finding(Severity.SUSPECT),)}, "finding"),
        ({"findings": (finding(Severity.INFO),)}, None),
        ({"success": True, "findings": (finding(Severity.ALERT),)}, "finding"),
        ({"success": False, "findings": (finding(Severity.ALERT),)}, "outcome"),
        ({"outcome": "paused", "success": False}, None),
    ],
)
def test_the_reason_is_the_first_that_applies(change, expected) -> None:
    assert expected == trigger(replace(HEALTHY, **change), NONE)


def test_triggers_can_be_left_out_and_the_severity_raised() -> None:
    flagged = replace(HEALTHY, success=False, findings=(finding(Severity.SUSPECT),))
    assert trigger(flagged, replace(NONE, triggers=("sample",))) is None
    assert trigger(flagged, replace(NONE, triggers=("finding",), severity="warn")) is None
    assert trigger(HEALTHY, replace(NONE, triggers=("outcome",), sample=1.0)) is None


def test_the_sample_is_the_same_for_everybody_and_about_as_large_as_asked_for() -> None:
    ids = [f"run-{number}" for number in range(20_000)]
    share = sum(sampled(run_id, 0.05) for run_id in ids) / len(ids)
    assert 0.045 < share < 0.055
    assert trigger(HEALTHY, replace(NONE, sample=1.0)) == "sample"
    # A larger sample holds the smaller one: raising the share judges no run twice.
    assert {i for i in ids if sampled(i, 0.01)} <= {i for i in ids if sampled(i, 0.05)}
    assert not any(sampled(run_id, 0.0) for run_id in ids)
    assert all(sampled(run_id, 1.0) for run_id in ids)


def test_an_id_with_a_lone_surrogate_can_be_sampled() -> None:
    assert sampled("run-\ud800", 1.0)
