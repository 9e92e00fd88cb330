"""The finding of a going run reaches a real Prometheus and, through a real collector, a trace."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.parse
import urllib.request

import pytest

from services.conftest import free_port, wait_until

pytestmark = pytest.mark.services

APP = """
import sys, time
import mastwatch

with mastwatch.run("archive search", task="find the invoice"):
    for _ in range(4):
        mastwatch.message("Planner", "I will search the whole archive for the invoice", to="Coder")
        mastwatch.tool("search", {"q": "invoice"}, agent="Coder", result="nothing found")
    print("looping", flush=True)
    sys.stdin.readline()  # the run goes on until the test has seen what it wants
"""


@pytest.fixture
def app(tmp_path):
    """Starts the app above with one line before it; it runs until told to end."""
    processes = []

    def start(**environ: str) -> subprocess.Popen[str]:
        path = tmp_path / "app.py"
        path.write_text("import mastwatch\nmastwatch.instrument()\n" + APP)
        clean = {k: v for k, v in os.environ.items() if not k.startswith("OTEL_")}
        process = subprocess.Popen(
            [sys.executable, str(path)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**clean, **environ},
        )  # fmt: skip
        processes.append(process)
        assert process.stdout.readline() == "looping\n"
        return process

    yield start
    for process in processes:
        process.kill()
        process.wait()


def query(url: str, expression: str) -> list[dict]:
    address = f"{url}/api/v1/query?query={urllib.parse.quote(expression)}"
    return json.load(urllib.request.urlopen(address))["data"]["result"]


def test_prometheus_sees_the_finding_while_the_run_goes_on(app, prometheus) -> None:
    port = free_port()
    process = app(MASTWATCH_PROMETHEUS_PORT=str(port))
    url = prometheus(port)
    expression = 'mastwatch_findings_total{mode="FM-1.3",severity="warn",framework="custom"} > 0'
    wait_until(lambda: bool(query(url, expression)), "the finding")
    [row] = query(url, 'mastwatch_runs_active{framework="custom"}')
    assert row["value"][1] == "1"
    assert process.poll() is None


@pytest.mark.parametrize("protocol", ["grpc", "http/protobuf"])
def test_the_exported_trace_carries_the_finding(app, collector, protocol) -> None:
    kept, grpc_port, http_port = collector
    port = grpc_port if protocol == "grpc" else http_port
    process = app(
        MASTWATCH_PROMETHEUS_PORT="0",
        OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{port}",
        OTEL_EXPORTER_OTLP_PROTOCOL=protocol,
    )
    process.stdin.write("\n")
    process.stdin.close()
    assert process.wait(20) == 0
    # 4 messages, 4 tool calls, the run; all flushed at exit.
    wait_until(lambda: len(kept.spans) >= 9, "the spans")
    assert len(kept.spans) == 9
    assert len({span.trace_id for span in kept.spans}) == 1
    events = [event for span in kept.spans for event in span.events]
    found = [
        {a.key.removeprefix("mastwatch.finding."): a.value for a in event.attributes}
        for event in events
        if event.name == "mastwatch.finding"
    ]
    assert {f["mode"].string_value for f in found} == {"FM-1.3"}
    assert "warn" in {f["severity"].string_value for f in found}
    wait_until(lambda: bool(kept.logs), "the evaluation event")
    assert kept.logs[0].event_name == "gen_ai.evaluation.result"
