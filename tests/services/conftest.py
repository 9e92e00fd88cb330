"""Real servers on loopback: started by the tests, or skipped with the reason."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent import futures
from pathlib import Path

import grpc
import pytest
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2, logs_service_pb2_grpc
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2, metrics_service_pb2_grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc


def missing(what: str) -> None:
    """Skip, or fail where all services were promised."""
    if os.environ.get("MASTWATCH_REQUIRE_SERVICES") == "1":
        pytest.fail(f"{what} is missing although MASTWATCH_REQUIRE_SERVICES=1")
    pytest.skip(f"{what} is not installed here")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until(ready: Callable[[], bool], what: str, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if ready():
                return
        except (OSError, urllib.error.URLError):
            pass
        time.sleep(0.1)
    pytest.fail(f"{what} did not come in {seconds} s")


class Sink(
    trace_service_pb2_grpc.TraceServiceServicer,
    metrics_service_pb2_grpc.MetricsServiceServicer,
    logs_service_pb2_grpc.LogsServiceServicer,
):
    """Keeps what an OTLP client sends."""

    def __init__(self) -> None:
        self.spans, self.logs, self.metrics = [], [], []

    def Export(self, request, context):
        if isinstance(request, trace_service_pb2.ExportTraceServiceRequest):
            for group in request.resource_spans:
                self.spans += [s for scope in group.scope_spans for s in scope.spans]
            return trace_service_pb2.ExportTraceServiceResponse()
        if isinstance(request, metrics_service_pb2.ExportMetricsServiceRequest):
            for group in request.resource_metrics:
                self.metrics += [m for scope in group.scope_metrics for m in scope.metrics]
            return metrics_service_pb2.ExportMetricsServiceResponse()
        for group in request.resource_logs:
            self.logs += [r for scope in group.scope_logs for r in scope.log_records]
        return logs_service_pb2.ExportLogsServiceResponse()


@pytest.fixture
def sink() -> Iterator[tuple[Sink, int]]:
    """An OTLP gRPC receiver at the far end of the collector."""
    server, kept, port = grpc.server(futures.ThreadPoolExecutor(2)), Sink(), free_port()
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(kept, server)
    metrics_service_pb2_grpc.add_MetricsServiceServicer_to_server(kept, server)
    logs_service_pb2_grpc.add_LogsServiceServicer_to_server(kept, server)
    server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    yield kept, port
    server.stop(0)


@pytest.fixture
def collector(sink, tmp_path) -> Iterator[tuple[Sink, int, int]]:
    """A real collector (rotel) before the sink; gives its gRPC and HTTP ports."""
    try:
        import rotel
    except ImportError:
        missing("rotel")
    kept, sink_port = sink
    grpc_port, http_port = free_port(), free_port()
    binary = Path(rotel.__file__).parent / "rotel-agent"
    if subprocess.run([str(binary), "--version"], capture_output=True).returncode != 0:
        missing("rotel, or the libpython that it needs,")
    log = (tmp_path / "rotel.log").open("w")
    process = subprocess.Popen(
        [
            str(binary), "start",
            "--otlp-grpc-endpoint", f"127.0.0.1:{grpc_port}",
            "--otlp-http-endpoint", f"127.0.0.1:{http_port}",
            "--exporter", "otlp", "--otlp-exporter-protocol", "grpc",
            "--otlp-exporter-endpoint", f"http://127.0.0.1:{sink_port}",
        ],
        stdout=log, stderr=log,
    )  # fmt: skip
    try:
        wait_until(lambda: _listens(grpc_port) and _listens(http_port), "rotel")
        yield kept, grpc_port, http_port
    finally:
        process.terminate()
        process.wait(10)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(0.2)
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def prometheus(tmp_path) -> Iterator[Callable[[int | Path], str]]:
    """Starts a real Prometheus that scrapes a port, or a folder's targets, each second."""
    if shutil.which("prometheus") is None:
        missing("prometheus")
    processes = []

    def start(target: int | Path) -> str:
        where = (
            f"file_sd_configs: [{{files: ['{target}/*.json'], refresh_interval: 1s}}]"
            if isinstance(target, Path)
            else f"static_configs: [{{targets: ['127.0.0.1:{target}']}}]"
        )
        port = free_port()
        config = tmp_path / "prometheus.yml"
        config.write_text(
            f"global: {{scrape_interval: 1s}}\nscrape_configs:\n  - job_name: app\n    {where}\n"
        )
        log = (tmp_path / "prometheus.log").open("w")
        command = [
            "prometheus", f"--config.file={config}", f"--storage.tsdb.path={tmp_path / 'tsdb'}",
            f"--web.listen-address=127.0.0.1:{port}",
        ]  # fmt: skip
        processes.append(subprocess.Popen(command, stdout=log, stderr=log))
        url = f"http://127.0.0.1:{port}"
        wait_until(lambda: urllib.request.urlopen(f"{url}/-/ready").status == 200, "Prometheus")
        return url

    yield start
    for process in processes:
        process.terminate()
        process.wait(10)
