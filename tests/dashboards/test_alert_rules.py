"""Every alert, evaluated by promtool: fires, keeps quiet, resolves, sees the first finding."""

from __future__ import annotations

import subprocess
from collections import defaultdict

import pytest

from dashboards import cases
from dashboards.promtool import needs_promtool, run, write_rules
from mastwatch.panels.rules import Parameters, alerts

pytestmark = pytest.mark.services
GROUPS = ("RATIO", "ANY", "RUN_ALERTS", "JUDGE_ALERTS", "OWN", "REGRESSION")
NEVER_FIRST = {"RunStalled", "FailureRateRegression", "JudgedRateRegression"}
"""A gauge has no first value to miss, and a comparison with last week needs a last week."""


@pytest.mark.parametrize("group", GROUPS)
def test_alerts_fire_keep_quiet_and_resolve(tmp_path, group) -> None:
    assert run(tmp_path, getattr(cases, group)) == ""


def test_every_alert_has_every_kind_of_case() -> None:
    kinds = defaultdict(set)
    for group in GROUPS:
        for case in getattr(cases, group):
            assert case.kind != "firing" or (case.firing and max(case.silent) > max(case.firing))
            kinds[case.alert].add(case.kind)
    wanted = {"firing", "quiet", "first"}
    assert kinds == {
        alert.name: wanted - ({"first"} if alert.name in NEVER_FIRST else set())
        for alert in alerts()
    }


def test_a_wrong_expectation_would_be_seen(tmp_path) -> None:
    """promtool does look: the case that fires, said to be silent, fails."""
    (case, *_) = cases.ANY
    wrong = type(case)(case.alert, case.kind, case.series, silent=case.firing)
    assert "FAILED" in run(tmp_path, [wrong])


@pytest.mark.parametrize(
    "parameters",
    [Parameters(), Parameters(long="20s", short="10s", hold="2s", linger="3s", every="1s")],
)
def test_the_rules_are_valid(tmp_path, parameters) -> None:
    needs_promtool()
    names = write_rules(tmp_path, parameters)
    command = ["promtool", "check", "rules", *(str(tmp_path / name) for name in names)]
    assert subprocess.run(command, capture_output=True).returncode == 0
