"""Exporting by OTLP: where the environment asks for it, quietly, and never for long."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from typing import Any

from opentelemetry.sdk._logs.export import LogRecordExporter
from opentelemetry.sdk.trace.export import SpanExporter

_EXPORT_LOGGERS = (
    "opentelemetry.exporter.otlp.proto.http.trace_exporter",
    "opentelemetry.exporter.otlp.proto.http.metric_exporter",
    "opentelemetry.exporter.otlp.proto.http._log_exporter",
    "opentelemetry.exporter.otlp.proto.grpc.exporter",
    "opentelemetry.sdk._shared_internal",
    "opentelemetry.sdk.metrics._internal.export",
)


def endpoint(signal: str) -> str:
    """The OTLP endpoint that is set for ``traces``, ``metrics`` or ``logs``; empty if none."""
    own = os.environ.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT", "")
    return own or os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", "")


def protocol(signal: str) -> str:
    """The OTLP protocol the environment asks for."""
    own = os.environ.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL", "")
    said = own or os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL", "")
    # The specification's default is HTTP; 4317 is the port every collector gives to gRPC.
    return said or ("grpc" if endpoint(signal).rstrip("/").endswith(":4317") else "http/protobuf")


def bounded(calls: list[Callable[[], Any]], timeout: float) -> bool:
    """Make calls at once and wait for them; returns whether all came back in time.

    In threads of their own, because the exporters' retries heed no time-out of ours.
    """
    deadline = time.monotonic() + timeout
    threads = [threading.Thread(target=call, daemon=True) for call in calls]
    for thread in threads:
        try:
            thread.start()
        except RuntimeError:  # the interpreter is too far down for new threads
            return False
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    return not any(thread.is_alive() for thread in threads)


class Quiet(logging.Filter):
    """Drops what OpenTelemetry logs while one of *our* exporters works; the host's may speak."""

    def __init__(self) -> None:
        super().__init__()
        self.working = threading.local()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the host may see a record."""
        return not getattr(self.working, "on", False)

    def install(self) -> None:
        """Listen to what exporters log."""
        for name in _EXPORT_LOGGERS:
            logging.getLogger(name).addFilter(self)

    def remove(self) -> None:
        """Stop listening."""
        for name in _EXPORT_LOGGERS:
            logging.getLogger(name).removeFilter(self)

    def __enter__(self) -> None:
        self.working.on = True

    def __exit__(self, *_: object) -> None:
        self.working.on = False


class QuietExporter(SpanExporter, LogRecordExporter):
    """An exporter of spans or logs whose failures are counted instead of printed.

    Args:
        inner: Exports.
        quiet: Keeps it from speaking.
        on_lost: Told of each failure: ``on_lost("export_failed")``.
    """

    def __init__(self, inner: Any, quiet: Quiet, on_lost: Callable[[str], None]) -> None:
        self._inner = inner
        self._quiet = quiet
        self._on_lost = on_lost

    def export(self, batch: Any) -> Any:
        """Export a batch."""
        with self._quiet:
            result = self._inner.export(batch)
        if result.name != "SUCCESS":
            self._on_lost("export_failed")
        return result

    def shutdown(self) -> None:
        """Stop."""
        with self._quiet:
            self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Export what is queued."""
        return bool(self._inner.force_flush(timeout_millis))
