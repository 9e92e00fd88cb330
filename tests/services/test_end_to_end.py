"""From failing agents to a pager: real apps, a real judge, Prometheus, Alertmanager, a receiver.

Two apps run under ``mastwatch run``, one on AG2 and one on LangGraph; ``mastwatch judge --worker``
judges what they leave in the store. Only the model is scripted, and the rules that ship are
generated with windows of seconds.
"""

from __future__ import annotations

import contextlib
import json
import re
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from mastwatch import metric_names
from mastwatch.cli import main
from mastwatch.judge.calibrate import Calibration, Calibrations, beside
from mastwatch.judge.modes import mast
from mastwatch.judge.prompt import PROMPT_VERSION
from mastwatch.panels.check import check
from mastwatch.panels.files import dashboards
from mastwatch.panels.queries import Times
from mastwatch.panels.rules import Parameters, rule_files
from mastwatch.panels.server import Prometheus
from mastwatch.testing import ScriptedModelServer
from services.conftest import wait_until
from services.stack import Process, Receiver, Stack

pytest.importorskip("autogen")
pytest.importorskip("langgraph")
pytestmark = [pytest.mark.services, pytest.mark.slow]

QUICK = Parameters(
    long="16s", short="8s", least_runs=2, hold="2s", linger="1s", every="1s",
    compared="20s", every_compared="5s", judge_window="20s",
    runbooks="https://wiki.test/modes",
)  # fmt: skip
WITHHELD = "There is no stack trace in this result, so I cannot point at a line yet."
"""What the coder of the demo's group chat says; the scripted judge quotes it."""
LIVE, JUDGED = "MastwatchTerminationUnawareness", "MastwatchInformationWithholding"

# Each app waits for a line, works on and off, so that there are rates, and stays to be scraped.
FRAME = """
import sys
import time
{imports}
from mastwatch.demo.models import set_pace

set_pace(0)
print("ready", flush=True)
sys.stdin.readline()
for _ in range(3):
    {work}
    time.sleep(1.1)
print("\\nfailed", flush=True)
sys.stdin.readline()
"""
APPS = {
    "ag2": FRAME.format(
        imports="import mastwatch\nfrom mastwatch.demo.apps import ag2_loop, ag2_no_stop",
        work="""
    ag2_no_stop.main()
    with mastwatch.run("checkout"):
        ag2_loop.main()
        mastwatch.outcome(success=False)""",
    ),
    "langgraph": FRAME.format(
        imports="from mastwatch.demo.apps import langgraph_healthy, langgraph_restart",
        work="langgraph_healthy.main(); langgraph_restart.main()",
    ),
}
CONFIG = """
metrics = "prometheus"
store = "{store}"

[judge]
enabled = true
in_process = false
model = "scripted"
base_url = "{url}"
profile = "fast"
prices = {{input = 0.4, output = 1.6}}
"""
PROMETHEUS = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [recording.yml, alerts.yml, fatal-ratio.yml]
alerting:
  alertmanagers: [static_configs: [targets: ["{alertmanager}"]]]
scrape_configs:
  - job_name: agents
    static_configs:
      - targets: ["127.0.0.1:{ag2}", "127.0.0.1:{langgraph}"]
        labels: {{environment: test}}
  - job_name: judge
    static_configs:
      - targets: ["127.0.0.1:{judge}"]
        labels: {{environment: test}}
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


def judgement(request: dict[str, Any]) -> dict[str, Any]:
    """Finds FM-2.4 in the runs in which the coder says so, and blames that row for the failure."""
    asked = request["response_format"]["json_schema"]
    text = "\n".join(message["content"] for message in request["messages"])
    row = re.search(rf"\[#(\d+) Coder [^\n]*\n[^\n]*{re.escape(WITHHELD)}", text)
    if asked["name"] != "verdicts":
        return attribution(asked["name"], row)
    modes = asked["schema"]["properties"]["modes"]["required"]
    none = {"verdict": "absent", "confidence": 0.9, "evidence": [], "why": "looked"}
    found: dict[str, Any] = dict.fromkeys(modes, none)
    if row is not None:
        quotes = [{"msg": int(row[1]), "quote": WITHHELD}]
        why = "The researcher does not say under which name it searched."
        found["information_withholding"] = {
            "verdict": "present", "confidence": 0.9, "evidence": quotes, "why": why,
        }  # fmt: skip
    return {"modes": found, "task_completed": "no" if row else "yes"}


def attribution(asked: str, row: re.Match[str] | None) -> dict[str, Any]:
    """The coder's words about it decided the run; no step decided the others."""
    if row is None:
        return {"candidates": []}
    quote = {"msg": int(row[1]), "quote": WITHHELD}
    if asked == "check":
        said = {"is_error": "yes", "lost_before": "no", "saves": "yes"}
        return {**said, "why": "Nobody asked.", "evidence": quote}
    step = {"step": int(row[1]), "agent": "Coder", "reason": "It goes on.", "confidence": 0.9}
    return {"candidates": [{**step, "counterfactual": "Ask.", "evidence": quote}]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("end_to_end")


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer(judgement) as server:
        yield server


@pytest.fixture(scope="module")
def started(folder, model) -> Iterator[dict[str, Process]]:
    """The apps, ready to begin, and the worker."""
    store = folder / "runs.sqlite"
    (folder / "mastwatch.toml").write_text(CONFIG.format(store=store, url=model.url))
    calibrated = Calibration(
        taxonomy_version=mast().version, prompt_version=PROMPT_VERSION, model="scripted",
        date="2026-11-21", runs=40, modes={"information_withholding": {"kappa": 0.7}},
    )  # fmt: skip
    Calibrations({calibrated.digest: calibrated}).save(beside(store))
    with contextlib.ExitStack() as closing:

        def start(*words: str, variable: str = "MASTWATCH_PROMETHEUS_PORT") -> Process:
            process = Process(folder, *words, variable=variable)
            closing.callback(process.close)
            return process

        for name, text in APPS.items():
            (folder / f"{name}_app.py").write_text(text)
        found = {name: start("run", f"{name}_app.py") for name in APPS}
        variable = "MASTWATCH_JUDGE_PROMETHEUS_PORT"
        found["judge"] = start("judge", "--worker", variable=variable)
        for name in APPS:
            found[name].read_until("ready")
        yield found


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    at_the_end = Receiver()
    yield at_the_end
    at_the_end.close()


@pytest.fixture(scope="module")
def failed(folder, started, receiver) -> Iterator[str]:
    """The address of a Prometheus that has seen the apps fail."""
    for name, text in rule_files(QUICK).items():
        (folder / name).write_text(text)
    stack = Stack(folder)
    try:
        alertmanager = stack.alertmanager(ALERTMANAGER.format(url=receiver.url))
        ports = {name: process.port for name, process in started.items()}
        address = alertmanager.removeprefix("http://")
        url = stack.prometheus(PROMETHEUS.format(alertmanager=address, **ports))
        wait_until(lambda: values(url, "count(up == 1)", "job") == {"": 3}, "the first scrapes")
        for name in APPS:
            started[name].go()
        for name in APPS:
            started[name].read_until("failed")
        yield url
    finally:
        stack.close()


def values(url: str, query: str, label: str) -> dict[str, float]:
    """What a query says, by one label."""
    address = f"{url}/api/v1/query?{urllib.parse.urlencode({'query': query})}"
    result = json.load(urllib.request.urlopen(address))["data"]["result"]
    return {series["metric"].get(label, ""): float(series["value"][1]) for series in result}


def exemplars(url: str) -> list[dict]:
    """What leads from the findings to their traces."""
    asked = {
        "query": metric_names.FINDINGS.name, "start": time.time() - 60, "end": time.time(),
    }  # fmt: skip
    address = f"{url}/api/v1/query_exemplars?{urllib.parse.urlencode(asked)}"
    found = json.load(urllib.request.urlopen(address))["data"]
    return [exemplar for series in found for exemplar in series["exemplars"]]


def test_a_failing_run_reaches_the_pager_and_the_all_clear_too(failed, started, receiver) -> None:
    wait_until(lambda: receiver.told(LIVE, "firing"), f"{LIVE} at the receiver")
    wait_until(lambda: receiver.told(JUDGED, "firing"), f"{JUDGED} at the receiver")
    live, judged = receiver.told(LIVE, "firing")[0], receiver.told(JUDGED, "firing")[0]
    assert live["labels"] == {
        "alertname": LIVE, "mode": "FM-1.5", "severity": "critical", "job": "agents",
        "environment": "test",
    }  # fmt: skip
    assert judged["labels"] == {
        "alertname": JUDGED, "mode": "FM-2.4", "severity": "critical", "job": "judge",
        "environment": "test", "source": "judge",
    }  # fmt: skip
    page = live["annotations"]["runbook_url"]
    assert page == "https://wiki.test/modes/termination_unawareness.md"
    assert "Runs of agents go on after they are over (FM-1.5)" in live["annotations"]["summary"]

    wait_until(lambda: receiver.told(LIVE, "resolved"), "the all-clear", 40)
    wait_until(lambda: receiver.told(JUDGED, "resolved"), "the judge's all-clear", 40)
    # It resolved because the runs are over, not because the apps or the worker are.
    assert [process.popen.poll() for process in started.values()] == [None] * 3


def test_every_live_mode_was_seen_and_led_to_its_trace(failed) -> None:
    flagged = 'max by (mode) (mastwatch_flagged_runs_total{severity=~"warn|alert"}) > 0'
    by_mode = values(failed, flagged, "mode")
    assert by_mode.keys() >= {"FM-1.3", "FM-1.5", "FM-2.1"}
    assert by_mode["FM-1.5"] == 3
    assert len(exemplars(failed)[0]["labels"]["trace_id"]) == 32


def test_the_worker_told_of_the_runs_that_the_apps_left(failed, model) -> None:
    present = 'mastwatch_judge_verdicts_total{mode="FM-2.4",verdict="present"}'
    assert values(failed, present, "job") == {"judge": 3}
    assert values(failed, 'mastwatch_judge_evidence_total{status="verified"}', "job") == {
        "judge": 3
    }
    found = 'mastwatch_findings_total{mode="FM-2.4",source="judge",severity="alert"} > 0'
    assert values(failed, found, "job") == {"judge": 3}
    decided = 'mastwatch_attributions_total{result="attributed"} > 0'
    assert values(failed, decided, "agent") == {"Coder": 3}
    assert values(failed, "mastwatch_judge_queue_depth", "job") == {"judge": 0}


def test_every_panel_of_every_dashboard_answers_with_data(failed) -> None:
    """Those too that may have none: success as the app reports it, agreement with people."""
    results = list(check(Prometheus(failed), dashboards(), Times(300)))
    silent = [r.query.title for r in results if r.status != "ok" and r.query.kind != "annotation"]
    assert silent == []
    assert {r.query.where for r in results} == {board["title"] for board in dashboards()}


def test_the_command_is_content_with_dashboards_and_rules(failed, capsys) -> None:
    shortened = {name: value for name, value in asdict(QUICK).items() if name != "runbooks"}
    given = [f"--{name.replace('_', '-')}={value}" for name, value in shortened.items()]
    command = ["dashboards", "check", "--prometheus", failed, "--range", "5m", "--rules", *given]
    assert main(command) == 0, capsys.readouterr().out
    assert ", 0 do not" in capsys.readouterr().out
