"""Counting with OpenTelemetry: the same names and labels as for Prometheus, by OTLP.

A name already ends as Prometheus wants it (``_total``, ``_seconds``), and a unit is given only
where the name says it: a collector's Prometheus exporter then adds nothing, whatever its settings.

A meter provider of the host is used as it is, and none of ours ever takes the global place.
"""

from __future__ import annotations

import math
import os
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from opentelemetry import metrics
from opentelemetry.metrics import CallbackOptions, Meter, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import (
    MetricExporter,
    MetricExportResult,
    PeriodicExportingMetricReader,
)
from opentelemetry.sdk.resources import SERVICE_INSTANCE_ID, Resource

from mastwatch.metric_names import Metric
from mastwatch.spans.export import Quiet, bounded, endpoint, protocol
from mastwatch.spans.provider import SCHEMA_URL, SCOPE, version
from mastwatch.spans.pusher import Pusher

_gauges: dict[str, _Gauge] = {}
"""The gauges in force, by name: an instrument asked for twice keeps its first callback."""


class OtelInstruments:
    """Makes families with the host's meter provider, else with one of ours.

    Args:
        on_lost: Told how often exporting failed: ``on_lost("export_failed")``.
        flush_timeout: Longest wait for the last export, in seconds.

    Attributes:
        usable: Whether anybody gets to see the metrics.
    """

    def __init__(self, on_lost: Callable[[str], None], flush_timeout: float = 2.0) -> None:
        self._on_lost = on_lost
        self._timeout = flush_timeout
        self._quiet = Quiet()
        self._own: MeterProvider | None = None
        self._pusher: Pusher | None = None
        self._gauges: list[str] = []
        # The proxy stands for a provider that the host may set later.
        set_by_host = not isinstance(
            metrics.get_meter_provider(), metrics._internal._ProxyMeterProvider
        )
        self.usable = set_by_host or bool(endpoint("metrics"))
        if not set_by_host and self.usable:
            self._quiet.install()
            # Asked for once: it works with threads, and a fork's hook is no place for those.
            self._resource = Resource.create()
            self._begin()
            self.start()
        self._meter = self._make_meter()

    def _begin(self) -> None:
        exporter = _QuietMetrics(_exporter(), self._quiet, self._on_lost)
        # Without an interval the reader has no thread of its own; ours can be asked to flush.
        reader = PeriodicExportingMetricReader(exporter, export_interval_millis=math.inf)
        self._own = MeterProvider(
            [reader], resource=_instance(self._resource), shutdown_on_exit=False
        )
        self._pusher = Pusher(self._own.force_flush, _interval())

    def _make_meter(self) -> Meter:
        provider = self._own or metrics.get_meter_provider()
        return provider.get_meter(SCOPE, version(), schema_url=SCHEMA_URL)

    def start(self) -> None:
        """Export from now on, every 60 s (``OTEL_METRIC_EXPORT_INTERVAL``)."""
        if self._pusher is not None:
            self._pusher.start()

    def counter(self, metric: Metric, labels: Sequence[str]) -> _Family:
        """A counter."""
        made = self._meter.create_counter(metric.name, _unit(metric), metric.help)
        return _Family(labels, lambda attributes: _CounterChild(made, attributes))

    def gauge(self, metric: Metric, labels: Sequence[str]) -> _Family:
        """A gauge, read when it is exported."""
        gauge = _gauges[metric.name] = _Gauge()
        self._gauges.append(metric.name)

        def read(options: CallbackOptions, name: str = metric.name) -> Iterable[Observation]:
            return _gauges[name].observations() if name in _gauges else ()

        self._meter.create_observable_gauge(metric.name, [read], _unit(metric), metric.help)
        return _Family(labels, gauge.child)

    def histogram(self, metric: Metric, labels: Sequence[str], buckets: Sequence[float]) -> _Family:
        """A histogram."""
        made = self._meter.create_histogram(
            metric.name,
            _unit(metric),
            metric.help,
            explicit_bucket_boundaries_advisory=[float(bound) for bound in buckets],
        )
        return _Family(labels, lambda attributes: _HistogramChild(made, attributes))

    def flush(self, timeout: float) -> bool:
        """Export; returns whether it was done in time. A provider of the host is its own affair."""
        return self._pusher is None or self._pusher.flush(timeout)

    def after_fork(self) -> None:
        """Count from 0, as another instance of the service; export once ``start()`` is called."""
        if self._own is not None:
            self._begin()
            self._meter = self._make_meter()

    def close(self) -> None:
        """Export what is left, and stop."""
        for name in self._gauges:
            _gauges.pop(name, None)
        if self._pusher is not None and self._own is not None:
            self._pusher.close(self._timeout)
            bounded([self._own.shutdown], 1.0)  # ends the retries of an export that goes on
            self._pusher.join(1.0)
        self._quiet.remove()


class _Family:
    """Children by label values; one that is asked for exists from then on, at 0."""

    def __init__(self, labels: Sequence[str], make: Callable[[Mapping[str, str]], Any]) -> None:
        self._labels = tuple(labels)
        self._make = make
        self._children: dict[tuple[str, ...], Any] = {}

    def labels(self, *values: str) -> Any:
        """The child with these label values."""
        child = self._children.get(values)
        if child is None:
            made = self._make(dict(zip(self._labels, values, strict=True)))
            child = self._children.setdefault(values, made)
        return child


class _CounterChild:
    def __init__(self, counter: metrics.Counter, attributes: Mapping[str, str]) -> None:
        self._counter = counter
        self._attributes = attributes
        counter.add(0, attributes)

    def inc(self, amount: float = 1, exemplar: Mapping[str, str] | None = None) -> None:
        self._counter.add(amount, self._attributes)  # the SDK finds the trace by itself


class _HistogramChild:
    def __init__(self, histogram: metrics.Histogram, attributes: Mapping[str, str]) -> None:
        self._histogram = histogram
        self._attributes = attributes

    def observe(self, value: float) -> None:
        self._histogram.record(value, self._attributes)


class _GaugeChild:
    def __init__(self, attributes: Mapping[str, str]) -> None:
        self.attributes = attributes
        self.read: Callable[[], float] = lambda: 0.0

    def set(self, value: float) -> None:
        self.read = lambda: value

    def set_function(self, read: Callable[[], float]) -> None:
        self.read = read


class _Gauge:
    def __init__(self) -> None:
        self._children: list[_GaugeChild] = []

    def child(self, attributes: Mapping[str, str]) -> _GaugeChild:
        child = _GaugeChild(attributes)
        self._children.append(child)
        return child

    def observations(self) -> list[Observation]:
        return [Observation(float(c.read()), c.attributes) for c in list(self._children)]


def _unit(metric: Metric) -> str:
    return "s" if metric.name.endswith("_seconds") else ""


def _interval() -> float:
    """Seconds between exports.

    >>> _interval()
    60.0
    """
    try:
        return max(0.1, float(os.environ.get("OTEL_METRIC_EXPORT_INTERVAL", "60000")) / 1_000)
    except ValueError:
        return 60.0


def _instance(service: Resource) -> Resource:
    # Counts of several processes are several series: without an instance they would be one that
    # jumps to and fro.
    if SERVICE_INSTANCE_ID in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", ""):
        return service
    return service.merge(Resource({SERVICE_INSTANCE_ID: str(uuid.uuid4())}))


def _exporter() -> Any:
    if protocol("metrics") == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import (
            OTLPMetricExporter as Grpc,
        )

        return Grpc()
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter as Http

    return Http()


class _QuietMetrics(MetricExporter):
    """An exporter whose failures are counted instead of printed."""

    def __init__(self, inner: Any, quiet: Quiet, on_lost: Callable[[str], None]) -> None:
        super().__init__(inner._preferred_temporality, inner._preferred_aggregation)
        self._inner = inner
        self._quiet = quiet
        self._on_lost = on_lost

    def export(
        self, metrics_data: Any, timeout_millis: float = 10_000, **more: Any
    ) -> MetricExportResult:
        with self._quiet:
            result: MetricExportResult = self._inner.export(metrics_data, timeout_millis, **more)
        if result is not MetricExportResult.SUCCESS:
            self._on_lost("export_failed")
        return result

    def force_flush(self, timeout_millis: float = 10_000) -> bool:
        return bool(self._inner.force_flush(timeout_millis))

    def shutdown(self, timeout_millis: float = 30_000, **more: Any) -> None:
        with self._quiet:
            self._inner.shutdown(timeout_millis, **more)
