"""From a failing run to a pager: a real Prometheus, a real Alertmanager, the rules that ship.

The rules are generated with windows of seconds; nothing else about them differs.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import urllib.parse
import urllib.request

import pytest

from mastwatch import metric_names
from mastwatch.cli import main
from mastwatch.panels.files import folder as shipped
from mastwatch.panels.rules import Parameters, rule_files
from services.conftest import free_port, wait_until
from services.stack import Receiver, Stack

pytest.importorskip("autogen")
pytestmark = [pytest.mark.services, pytest.mark.slow]

QUICK = Parameters(
    long="16s", short="8s", least_runs=2, hold="2s", linger="1s", every="1s",
    compared="20s", every_compared="5s", judge_window="20s",
    runbooks="https://wiki.test/modes",
)  # fmt: skip

# A real AG2 chat whose agents do not notice that they are done, three times over; and what a judge
# would count of it, under the names that the judge's metrics have.
APP = """
import sys
import mastwatch
mastwatch.instrument()
from prometheus_client import Counter
from mastwatch import metric_names
from mastwatch.demo.apps import ag2_no_stop
from mastwatch.demo.models import set_pace

set_pace(0)
metric = metric_names.JUDGE_VERDICTS
verdicts = Counter(metric.name, metric.help, metric.labels)
verdicts.labels("FM-2.4", "absent").inc(2)
print("ready", flush=True)
sys.stdin.readline()
for _ in range(3):
    ag2_no_stop.main()
    verdicts.labels("FM-2.4", "present").inc()
print("\\nfailed", flush=True)
sys.stdin.readline()
"""

PROMETHEUS = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [recording.yml, alerts.yml, fatal-ratio.yml]
alerting:
  alertmanagers: [static_configs: [targets: ["{alertmanager}"]]]
scrape_configs:
  - job_name: agents
    static_configs: [targets: ["127.0.0.1:{port}"]]
"""
ALERTMANAGER = """
route:
  receiver: pager
  group_by: [alertname, job, environment, mode]
  group_wait: 0s
  group_interval: 1s
  repeat_interval: 1h
receivers:
  - name: pager
    webhook_configs: [{{url: "{url}", send_resolved: true}}]
"""
LIVE, JUDGED = "MastwatchTerminationUnawareness", "MastwatchInformationWithholding"


@pytest.fixture
def app(tmp_path):
    """The app's process and the port of its metrics."""
    path, port = tmp_path / "app.py", free_port()
    path.write_text(APP)
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OTEL_", "MASTWATCH_"))}
    process = subprocess.Popen(
        [sys.executable, str(path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env={**clean, "MASTWATCH_PROMETHEUS_PORT": str(port)},
    )  # fmt: skip
    yield process, port
    process.kill()
    process.wait()


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


def read_until(process, line: str) -> None:
    for said in process.stdout:
        if said.strip() == line:
            return
    pytest.fail(f"the app ended before it said {line!r}")


def exemplars(url: str) -> list[dict]:
    """What leads from the findings to their traces."""
    asked = {"query": metric_names.FINDINGS.name, "start": time.time() - 60, "end": time.time()}
    address = f"{url}/api/v1/query_exemplars?{urllib.parse.urlencode(asked)}"
    found = json.load(urllib.request.urlopen(address))["data"]
    return [exemplar for series in found for exemplar in series["exemplars"]]


def test_a_failing_run_reaches_the_pager_and_the_all_clear_too(
    app, stack, receiver, tmp_path
) -> None:
    process, port = app
    for name, text in rule_files(QUICK).items():
        (tmp_path / name).write_text(text)
    alertmanager = stack.alertmanager(ALERTMANAGER.format(url=receiver.url))
    read_until(process, "ready")
    address = alertmanager.removeprefix("http://")
    url = stack.prometheus(PROMETHEUS.format(alertmanager=address, port=port))
    process.stdin.write("\n")
    process.stdin.flush()
    read_until(process, "failed")

    wait_until(lambda: receiver.told(LIVE, "firing"), f"{LIVE} at the receiver")
    wait_until(lambda: receiver.told(JUDGED, "firing"), f"{JUDGED} at the receiver")
    [live], [judged] = receiver.told(LIVE, "firing")[:1], receiver.told(JUDGED, "firing")[:1]
    assert live["labels"] == {
        "alertname": LIVE, "mode": "FM-1.5", "severity": "critical", "job": "agents",
    }  # fmt: skip
    assert judged["labels"]["mode"] == "FM-2.4"
    assert judged["labels"]["source"] == "judge"
    page = live["annotations"]["runbook_url"]
    assert page == "https://wiki.test/modes/termination_unawareness.md"
    assert "Runs of agents go on after they are over (FM-1.5)" in live["annotations"]["summary"]

    [first, *_] = exemplars(url)
    assert len(first["labels"]["trace_id"]) == 32

    wait_until(lambda: receiver.told(LIVE, "resolved"), "the all-clear", 40)
    wait_until(lambda: receiver.told(JUDGED, "resolved"), "the judge's all-clear", 40)
    assert process.poll() is None  # it resolved because the runs are over, not because the app is


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
