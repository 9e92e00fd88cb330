"""What ships for Prometheus and Alertmanager, before the real ones."""

from __future__ import annotations

import json
import re
import subprocess
import urllib.request

import pytest

from mastwatch.cli import main
from mastwatch.panels.files import folder as shipped
from services.conftest import wait_until
from services.stack import Receiver, Stack

pytestmark = [pytest.mark.services, pytest.mark.slow]

LIVE = "MastwatchTerminationUnawareness"


@pytest.fixture
def stack(tmp_path):
    started = Stack(tmp_path)
    yield started
    started.close()


@pytest.fixture
def receiver():
    at_the_end = Receiver()
    yield at_the_end
    at_the_end.close()


def test_the_examples_are_valid(tmp_path) -> None:
    """What ``up`` writes is accepted by promtool and amtool."""
    assert main(["dashboards", "up", "--dir", str(tmp_path)]) == 0
    for command in (
        ["promtool", "check", "config", str(tmp_path / "prometheus/prometheus.yml")],
        ["amtool", "check-config", str(tmp_path / "alertmanager/alertmanager.yml")],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    assert (shipped() / "alertmanager/alertmanager.yml").is_file()


def routed(**labels: str) -> str:
    """Which receiver the example gives an alert to."""
    path = shipped() / "alertmanager/alertmanager.yml"
    command = ["amtool", "config", "routes", "test", f"--config.file={path}"]
    words = [f"{key}={value}" for key, value in labels.items()]
    return subprocess.run([*command, *words], capture_output=True, text=True).stdout.strip()


def test_the_example_wakes_people_for_critical_alerts_only() -> None:
    assert routed(alertname=LIVE, severity="critical", mode="FM-1.5") == "pager"
    assert routed(alertname="MastwatchRunStalled", severity="warning", mode="none") == "chat"


def test_who_is_woken_for_a_mode_gets_no_second_message_about_it(stack, receiver) -> None:
    example = (shipped() / "alertmanager/alertmanager.yml").read_text()
    url = stack.alertmanager(re.sub(r"http://host\S+", receiver.url, example))
    about = {"job": "agents", "environment": "local", "mode": "FM-1.5"}
    alerts = [
        {"alertname": LIVE, "severity": "critical", **about},
        {"alertname": "MastwatchFailureRateRegression", "severity": "warning", **about},
        {"alertname": "MastwatchFailureRateRegression", "severity": "warning", **about}
        | {"mode": "FM-3.1"},
    ]
    body = json.dumps([{"labels": labels} for labels in alerts]).encode()
    kind = {"Content-Type": "application/json"}
    urllib.request.urlopen(urllib.request.Request(f"{url}/api/v2/alerts", body, kind))

    def states() -> list[tuple[str, str]]:
        told = json.load(urllib.request.urlopen(f"{url}/api/v2/alerts"))
        return sorted((a["labels"]["mode"], a["status"]["state"]) for a in told)

    wait_until(lambda: ("FM-1.5", "suppressed") in states(), "the inhibition")
    assert states() == [("FM-1.5", "active"), ("FM-1.5", "suppressed"), ("FM-3.1", "active")]
