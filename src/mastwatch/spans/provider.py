"""The OpenTelemetry providers: the host's where it has them, else quiet ones of our own.

A provider of the host is never replaced, and ours gives way when the host sets one later. Ours
export by OTLP only where an ``OTEL_EXPORTER_OTLP_*ENDPOINT`` is set; a dead endpoint is counted,
not printed; the process's exit waits for at most the flush time-out.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata
from typing import Any

from opentelemetry import _logs, trace
from opentelemetry._logs import Logger
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from mastwatch.guard import guard
from mastwatch.spans.export import Quiet, QuietExporter, bounded, endpoint, protocol

SCOPE = "mastwatch"
SCHEMA_URL = "https://opentelemetry.io/schemas/1.37.0"


def version() -> str:
    """Version of the installed mastwatch."""
    try:
        return metadata.version("mastwatch")
    except metadata.PackageNotFoundError:  # run from a source tree that was never installed
        return "0"


class Providers:
    """Gives tracers and loggers, whoever the provider is.

    Args:
        flush_timeout: Longest wait for exports at exit or close, in seconds.
        on_lost: Told how often exporting failed: ``on_lost("export_failed")``.
    """

    def __init__(self, flush_timeout: float, on_lost: Callable[[str], None]) -> None:
        self._timeout = flush_timeout
        self._on_lost = on_lost
        self._own_traces: TracerProvider | None = None
        self._own_logs: LoggerProvider | None = None
        self._quiet = Quiet()
        self._tracer: tuple[Any, trace.Tracer] | None = None
        self._logger: tuple[Any, Logger] | None = None
        self._version = version()
        self._start()

    def _start(self) -> None:
        if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
            self._own_traces = TracerProvider(shutdown_on_exit=False)
            with guard("export.traces"):  # an OTEL_* variable that cannot be read raises here
                if endpoint("traces"):
                    self._own_traces.add_span_processor(
                        BatchSpanProcessor(self._quietly(_span_exporter()))
                    )
            _set_yielding(self._own_traces)
        if endpoint("logs") and isinstance(
            _logs.get_logger_provider(), _logs._internal.ProxyLoggerProvider
        ):
            self._own_logs = LoggerProvider(shutdown_on_exit=False)
            with guard("export.logs"):
                self._own_logs.add_log_record_processor(
                    BatchLogRecordProcessor(self._quietly(_log_exporter()))
                )
        if self._own_traces is not None or self._own_logs is not None:
            self._quiet.install()

    def _quietly(self, exporter: Any) -> QuietExporter:
        return QuietExporter(exporter, self._quiet, self._on_lost)

    def tracer(self) -> trace.Tracer:
        """A tracer of whoever is the global provider now."""
        provider = trace.get_tracer_provider()
        if self._tracer is None or self._tracer[0] is not provider:
            tracer = provider.get_tracer(SCOPE, self._version, schema_url=SCHEMA_URL)
            self._tracer = (provider, tracer)
        return self._tracer[1]

    def logger(self) -> Logger:
        """A logger of the host's provider, else of ours."""
        provider: Any = self._own_logs
        host = _logs.get_logger_provider()
        if provider is None or not isinstance(host, _logs._internal.ProxyLoggerProvider):
            provider = host
        if self._logger is None or self._logger[0] is not provider:
            logger = provider.get_logger(SCOPE, self._version, schema_url=SCHEMA_URL)
            self._logger = (provider, logger)
        return self._logger[1]

    def flush(self, timeout: float | None = None) -> bool:
        """Export what is queued in our own providers.

        Args:
            timeout: Longest wait in seconds; the flush time-out by default.

        Returns:
            Whether everything was out in time.
        """
        return bounded(
            [p.force_flush for p in (self._own_traces, self._own_logs) if p is not None],
            self._timeout if timeout is None else timeout,
        )

    def close(self) -> None:
        """Flush, stop our providers and take ours out of the global place."""
        own = [p for p in (self._own_traces, self._own_logs) if p is not None]
        bounded([p.shutdown for p in own], self._timeout)
        if self._own_traces is not None and trace._TRACER_PROVIDER is self._own_traces:
            trace._TRACER_PROVIDER = None
        self._own_traces = self._own_logs = None
        self._quiet.remove()


def _set_yielding(provider: TracerProvider) -> None:
    """Make ours the global provider in a way that the host can still set its own later.

    ``trace.set_tracer_provider`` works once per process: had we used it, a host that configures
    tracing after ``instrument()`` would find its provider refused and its traces lost.
    """
    if hasattr(trace, "_TRACER_PROVIDER"):
        trace._TRACER_PROVIDER = provider
    else:
        trace.set_tracer_provider(provider)


def _span_exporter() -> Any:
    if protocol("traces") == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as Grpc

        return Grpc()
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as Http

    return Http()


def _log_exporter() -> Any:
    if protocol("logs") == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter as Grpc

        return Grpc()
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter as Http

    return Http()
