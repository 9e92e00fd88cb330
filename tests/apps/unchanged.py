"""Runs an app as a user would, ``mastwatch run app.py``, and says what was seen of it."""

from __future__ import annotations

import http.server
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from mastwatch.store.base import Store
from mastwatch.store.sqlite import SqliteStore
from mastwatch.store.trace import Trace

ROOT = Path(__file__).parents[2]


@dataclass
class Span:
    """A span as it reached the collector."""

    name: str
    scope: str
    span_id: str
    parent_id: str
    trace_id: str
    attributes: dict[str, object]
    events: list[str]


@dataclass
class Ran:
    """What an app run under ``mastwatch run`` printed, exported and left in the store."""

    returncode: int
    stdout: str
    stderr: str
    spans: list[Span] = field(default_factory=list)
    traces: list[Trace] = field(default_factory=list)

    def named(self, prefix: str) -> list[Span]:
        return [span for span in self.spans if span.name.split()[0] == prefix]


class _Collector(http.server.BaseHTTPRequestHandler):
    spans: list[Span]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.endswith("/v1/traces"):
            self.spans.extend(_spans(ExportTraceServiceRequest.FromString(body)))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def _spans(request: ExportTraceServiceRequest) -> Iterator[Span]:
    for group in request.resource_spans:
        for scoped in group.scope_spans:
            for span in scoped.spans:
                yield Span(
                    span.name,
                    scoped.scope.name,
                    span.span_id.hex(),
                    span.parent_span_id.hex(),
                    span.trace_id.hex(),
                    {a.key: getattr(a.value, a.value.WhichOneof("value")) for a in span.attributes},
                    [event.name for event in span.events],
                )


@contextmanager
def _collecting() -> Iterator[tuple[str, list[Span]]]:
    spans: list[Span] = []
    handler = type("Collector", (_Collector,), {"spans": spans})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", spans
    finally:
        server.shutdown()
        server.server_close()


def run_unchanged(
    app: Path, folder: Path, *args: str, env: Mapping[str, str] | None = None, plain: bool = False
) -> Ran:
    """Run a script: watched, with spans exported and runs stored; or, ``plain``, as it is.

    Args:
        app: The script.
        folder: For the store's file.
        args: The script's own.
        env: Variables besides ours.
        plain: Without mastwatch, to compare what it prints.
    """
    store = folder / "runs.sqlite"
    command = [sys.executable, str(app), *args]
    if not plain:
        command = [sys.executable, "-m", "mastwatch.cli", "run", *command[1:]]
    with _collecting() as (endpoint, spans):
        ours = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
            "MASTWATCH_STORE": str(store),
            "MASTWATCH_PROMETHEUS_PORT": "0",
            "MASTWATCH_FLUSH_TIMEOUT": "20",
        }
        done = subprocess.run(
            command,
            env={**os.environ, **({} if plain else ours), **(env or {})},
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
    ran = Ran(done.returncode, done.stdout, done.stderr, spans)
    if store.exists():
        kept: Store = SqliteStore(store)
        ran.traces = [trace for run in kept.runs() if (trace := kept.trace(run))]
        kept.close()
    return ran
