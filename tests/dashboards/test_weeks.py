"""Weeks of healthy runs that are flagged by mistake wake nobody in the ratio form."""

from __future__ import annotations

import random
import subprocess

import pytest

from dashboards.cases import RUNS, flagged
from dashboards.promtool import needs_promtool
from dashboards.weeks import MINUTES, occurrences, pages, series, week
from mastwatch.panels.rules import Parameters, rule_files
from mastwatch.panels.rules.recording import recording_groups
from mastwatch.panels.yaml import dump

MEASURED = 0.01
"""Healthy runs flagged at warn by mistake: the upper figure of the evaluation."""


@pytest.mark.parametrize("per_day", [10, 1_000, 2_000])
def test_at_most_one_false_page_a_week(per_day) -> None:
    rng = random.Random(1)
    weeks = [week(per_day, MEASURED, rng) for _ in range(4)]
    assert sum(map(pages, weeks)) <= len(weeks)


def test_a_fleet_of_100000_runs_a_day_is_never_woken_by_chance() -> None:
    """A day of it is 100,000 draws; the rest of the week is no different."""
    day = week(100_000 / 7, MEASURED, random.Random(1))
    assert pages([(7 * ended, 7 * wrong) for ended, wrong in day]) == 0


def test_the_any_form_is_for_low_volume() -> None:
    rng = random.Random(2)
    assert occurrences(week(10, MEASURED, rng)) <= 3
    assert occurrences(week(1_000, MEASURED, rng)) > 30


def test_real_trouble_is_seen() -> None:
    """Half of the runs go on without end for three hours, at 1,000 runs a day: one page."""
    healthy = week(1_000, MEASURED, random.Random(3))
    bad = [(n, n // 2 + n % 2) if 5_000 <= at < 5_180 else (n, f) for at, (n, f) in
           enumerate(healthy)]  # fmt: skip
    assert pages(bad) == 1


@pytest.mark.services
@pytest.mark.slow
@pytest.mark.parametrize("per_day", [10, 1_000, 100_000])
def test_prometheus_says_so_too(tmp_path, per_day) -> None:
    """The rules themselves, evaluated by promtool over a simulated week."""
    needs_promtool()
    minutes = week(per_day, MEASURED, random.Random(per_day))
    assert _firing_minutes(tmp_path, minutes) == 0
    assert pages(minutes) == 0


@pytest.mark.services
@pytest.mark.slow
def test_the_simulation_agrees_with_prometheus_where_alerts_fire(tmp_path) -> None:
    needs_promtool()
    minutes = week(1_000, 0.09, random.Random(5))[: MINUTES // 7]
    assert pages(minutes) >= 1
    assert _firing_minutes(tmp_path, minutes, every=2) >= 15 * pages(minutes) // 2


def _firing_minutes(folder, minutes, every=5) -> int:
    """For how long the live alert fires, evaluated every so many minutes."""
    p = Parameters()
    groups = {"groups": [recording_groups(p)[0]]}
    (folder / "recording.yml").write_text(dump(groups))
    (folder / "fatal.yml").write_text(rule_files(p)["fatal-ratio.yml"])
    told = folder / "told.yml"
    told.write_text(dump(_test(minutes, every)))
    done = subprocess.run(
        ["promtool", "test", "rules", str(told)], capture_output=True, text=True, timeout=300
    )
    if done.returncode == 0:
        return 0
    # promtool prints what it got where it expected nothing: the number of evaluations.
    got = [line for line in (done.stdout + done.stderr).splitlines() if "got:" in line]
    assert got, done.stdout + done.stderr
    return every * int(float(got[0].rsplit(" ", 1)[1].strip('"')))


def _test(minutes, every) -> dict:
    ended, wrong = series(minutes, 0), series(minutes, 1)
    return {
        "rule_files": ["recording.yml", "fatal.yml"],
        "evaluation_interval": f"{every}m",
        "group_eval_order": ["mastwatch-recording", "mastwatch-fatal-ratio"],
        "tests": [
            {
                "interval": "1m",
                "input_series": [
                    {"series": RUNS, "values": ended},
                    {"series": flagged("FM-1.5"), "values": wrong},
                ],
                "promql_expr_test": [
                    {
                        "expr": 'sum(count_over_time(ALERTS{alertstate="firing",'
                        'alertname="MastwatchTerminationUnawareness"}[1w]))',
                        "eval_time": f"{len(minutes) - 1}m",
                        "exp_samples": [],
                    }
                ],
            }
        ],
    }
