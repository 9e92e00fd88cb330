"""``metrics="otlp"``: a short job delivers its finding, under the names that Prometheus has."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality

from services.conftest import free_port, wait_until

pytestmark = pytest.mark.services

APP = """
import mastwatch

mastwatch.instrument()
with mastwatch.run("report", task="write the report"):
    mastwatch.message("Writer", "Here is the whole report. TERMINATE", to="Editor")
    for _ in range(4):
        mastwatch.message("Editor", "Thank you, goodbye.", to="Writer")
        mastwatch.message("Writer", "TERMINATE", to="Editor")
"""


class Receiver:
    """Keeps the last state that each process reported over OTLP/HTTP."""

    def __init__(self) -> None:
        self.metrics: dict[str, Any] = {}
        self.resource: dict[str, str] = {}
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                if self.path == "/v1/metrics":
                    receiver.take(ExportMetricsServiceRequest.FromString(body))
                self.send_response(200)
                self.end_headers()
                self.wfile.write(ExportMetricsServiceResponse().SerializeToString())

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self, request: ExportMetricsServiceRequest) -> None:
        for group in request.resource_metrics:
            self.resource = {a.key: a.value.string_value for a in group.resource.attributes}
            for scope in group.scope_metrics:
                self.metrics |= {metric.name: metric for metric in scope.metrics}

    def points(self, name: str) -> list[tuple[dict[str, str], Any]]:
        metric = self.metrics[name]
        return [
            ({a.key: a.value.string_value for a in point.attributes}, point)
            for point in getattr(metric, metric.WhichOneof("data")).data_points
        ]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.server.shutdown()
    made.server.server_close()


def run(app: str, url: str, **environ: str) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith("OTEL_")}
    clean |= {"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}
    return subprocess.run(
        [sys.executable, "-c", app],
        env={**clean, **environ}, text=True, capture_output=True, timeout=60,
    )  # fmt: skip


def warned(receiver: Receiver, name: str, mode: str) -> float:
    return sum(
        point.as_double or point.as_int
        for labels, point in receiver.points(name)
        if labels["mode"] == mode and labels["severity"] in ("warn", "alert")
    )


def test_a_short_job_delivers_its_finding_at_its_end(receiver) -> None:
    began = time.monotonic()
    done = run(APP, receiver.url, MASTWATCH_METRICS="otlp")
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - began < 20  # a bound for a busy machine; two seconds when idle
    assert warned(receiver, "mastwatch_findings_total", "FM-1.5") >= 1
    [point] = [
        point
        for labels, point in receiver.points("mastwatch_runs_total")
        if labels == {"framework": "custom", "outcome": "completed"}
    ]
    assert point.as_int == 1
    # Series of modes without a finding exist too, at 0.
    assert any(
        labels["mode"] == "FM-1.3" and point.as_int == 0
        for labels, point in receiver.points("mastwatch_findings_total")
    )
    assert receiver.resource["service.instance.id"]


def test_otel_metrics_exporter_is_honoured(receiver) -> None:
    assert run(APP, receiver.url, OTEL_METRICS_EXPORTER="otlp").returncode == 0
    assert "mastwatch_runs_total" in receiver.metrics


JUDGED = """
import sys, time
import mastwatch
from mastwatch.store.sqlite import SqliteStore

def model(messages, schema):
    if "modes" not in schema["properties"]:
        return {"step": 0, "agent": "Writer", "reason": "", "confidence": 0.9}
    absent = {"verdict": "absent", "confidence": 0.9, "evidence": [], "why": ""}
    modes = {slug: absent for slug in schema["properties"]["modes"]["properties"]}
    return {"modes": modes, "task_completed": "no"}

mastwatch.instrument(judge=model, store=PATH, judge_options={"attribution": "all_at_once"})
with mastwatch.run("report", task="write the report") as run:
    mastwatch.message("Writer", "Here is the whole report, all of it.", to="Editor")
    mastwatch.outcome(success=False)
store = SqliteStore(PATH)
deadline = time.monotonic() + 30
while store.attribution(run.id) is None and time.monotonic() < deadline:
    time.sleep(0.02)
"""


def test_what_the_judge_says_is_counted_too(receiver, tmp_path) -> None:
    app = JUDGED.replace("PATH", repr(str(tmp_path / "runs.sqlite")))
    done = run(app, receiver.url, MASTWATCH_METRICS="otlp")
    assert done.returncode == 0, done.stderr
    counted = {
        (labels["mode"], labels["verdict"]): point.as_int
        for labels, point in receiver.points("mastwatch_judge_verdicts_total")
    }
    assert counted["FM-2.4", "absent"] == 1
    assert counted["FM-2.4", "present"] == 0
    decided = {
        (labels["agent"], labels["result"]): point.as_int
        for labels, point in receiver.points("mastwatch_attributions_total")
    }
    assert decided == {("Writer", "attributed"): 1, ("Writer", "unverified"): 0}
    assert {labels["type"] for labels, _ in receiver.points("mastwatch_attribution_tokens_total")}
    assert "mastwatch_attribution_seconds" in receiver.metrics
    assert "mastwatch_runs_active" in receiver.metrics  # the judge's last export took nothing away


BOTH = (
    APP.replace("mastwatch.instrument()", 'handle = mastwatch.instrument(metrics="both")')
    + """
import json, prometheus_client
families = {}
for family in prometheus_client.REGISTRY.collect():
    for sample in family.samples:
        if sample.name.startswith("mastwatch_") and not sample.name.endswith("_created"):
            families.setdefault(sample.name, []).append([sample.labels, sample.value])
print(json.dumps(families))
"""
)


def test_both_ways_have_the_same_names_labels_and_values(receiver) -> None:
    done = run(BOTH, receiver.url, MASTWATCH_PROMETHEUS_PORT=str(free_port()))
    assert done.returncode == 0, done.stderr
    scraped = json.loads(done.stdout)
    sent: dict[str, list[Any]] = {}
    for name, metric in receiver.metrics.items():
        for labels, point in receiver.points(name):
            if metric.HasField("histogram"):
                sent.setdefault(f"{name}_count", []).append([labels, float(point.count)])
                bounds = [*map(str, point.explicit_bounds), "+Inf"]
                so_far = 0
                for bound, count in zip(bounds, point.bucket_counts, strict=True):
                    so_far += count
                    row = [{**labels, "le": bound}, float(so_far)]
                    sent.setdefault(f"{name}_bucket", []).append(row)
            else:
                sent.setdefault(name, []).append([labels, float(point.as_double or point.as_int)])
    for name, rows in scraped.items():
        if name.endswith("_sum") or "idle_seconds" in name:
            continue  # of time that goes on
        for labels, value in rows:
            assert [labels, value] in sent[name], (name, labels, value)
    assert {name for name in scraped if not name.endswith("_sum")} == set(sent)


def test_units_and_temporality_add_nothing_to_the_names(receiver) -> None:
    run(APP, receiver.url, MASTWATCH_METRICS="otlp")
    for name, metric in receiver.metrics.items():
        assert metric.unit == ("s" if name.endswith("_seconds") else ""), name
        if name.endswith("_total"):
            assert metric.sum.is_monotonic
            assert (
                metric.sum.aggregation_temporality
                == AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
            )


@pytest.mark.parametrize("end", ["", "mastwatch.uninstrument()"])
def test_a_dead_endpoint_costs_the_flush_time_out_and_is_not_printed(end) -> None:
    began = time.monotonic()
    done = run(
        APP + end, f"http://127.0.0.1:{free_port()}",
        MASTWATCH_METRICS="otlp", MASTWATCH_FLUSH_TIMEOUT="0.5",
    )  # fmt: skip
    assert done.returncode == 0
    said = [line for line in done.stderr.splitlines() if "finding" not in line]
    assert said == []
    assert time.monotonic() - began < 20


HOST = (
    """
from opentelemetry import metrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

reader = InMemoryMetricReader()
provider = MeterProvider([reader])
metrics.set_meter_provider(provider)
"""
    + APP
    + """
assert metrics.get_meter_provider() is provider
data = reader.get_metrics_data().resource_metrics[0].scope_metrics
names = {metric.name for scope in data for metric in scope.metrics}
assert "mastwatch_findings_total" in names, names
[duration] = [m for s in data for m in s.metrics if m.name == "mastwatch_run_duration_seconds"]
assert tuple(duration.data.data_points[0].explicit_bounds)[:2] == (1, 5)
"""
)


def test_a_provider_of_the_host_is_used_and_ours_exports_nothing(receiver) -> None:
    done = run(HOST, receiver.url, MASTWATCH_METRICS="otlp")
    assert done.returncode == 0, done.stderr
    assert receiver.metrics == {}


FORK = (
    APP.split("with mastwatch.run")[0]
    + """
import os, signal
with mastwatch.run("in the parent"):
    mastwatch.message("A", "The parent says something.", to="B")
pid = os.fork()
if not pid:
    signal.alarm(20)  # should it hang
    with mastwatch.run("in the child"):
        mastwatch.message("A", "The child says something.", to="B")
    assert mastwatch.flush(5)
    os._exit(0)
os.waitpid(pid, 0)
"""
)


def test_a_forked_child_reports_its_own_numbers_as_another_instance(receiver) -> None:
    seen = []
    take = receiver.take

    def note(request: ExportMetricsServiceRequest) -> None:
        take(request)
        points = receiver.points("mastwatch_messages_total")
        seen.append((receiver.resource["service.instance.id"], [p.as_int for _, p in points]))

    receiver.take = note  # type: ignore[method-assign]
    done = run(FORK, receiver.url, MASTWATCH_METRICS="otlp")
    assert done.returncode == 0, done.stderr
    last = dict(seen)
    assert len(last) == 2
    assert list(last.values()) == [[1], [1]]


@pytest.mark.parametrize("protocol", ["grpc", "http/protobuf"])
def test_the_finding_passes_through_a_real_collector(collector, protocol) -> None:
    kept, grpc_port, http_port = collector
    url = f"http://127.0.0.1:{grpc_port if protocol == 'grpc' else http_port}"
    done = run(APP, url, MASTWATCH_METRICS="otlp", OTEL_EXPORTER_OTLP_PROTOCOL=protocol)
    assert done.returncode == 0, done.stderr

    def arrived() -> bool:
        return any(
            point.as_int >= 1
            and any(a.key == "mode" and a.value.string_value == "FM-1.5" for a in point.attributes)
            for metric in kept.metrics
            if metric.name == "mastwatch_findings_total"
            for point in metric.sum.data_points
        )

    wait_until(arrived, "the finding")
