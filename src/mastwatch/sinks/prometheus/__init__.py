"""Metrics for Prometheus; the only place that imports prometheus_client."""

from __future__ import annotations

from typing import Any

from prometheus_client import CollectorRegistry

from mastwatch.runs import Runs
from mastwatch.sinks.metrics import BoundedLabel, MetricsSink
from mastwatch.sinks.prometheus.endpoint import MetricsServer
from mastwatch.sinks.prometheus.instruments import PrometheusInstruments

__all__ = ["BoundedLabel", "MetricsServer", "PrometheusInstruments", "PrometheusSink"]


class PrometheusSink(MetricsSink):
    """Counts in a registry of prometheus_client, and there only.

    Args:
        runs: The watch's runs.
        registry: Where the metrics live; prometheus_client's default one if None.
        **about: As of ``MetricsSink``.
    """

    def __init__(
        self, runs: Runs, *, registry: CollectorRegistry | None = None, **about: Any
    ) -> None:
        instruments = PrometheusInstruments(registry)
        self.registry = instruments.registry
        super().__init__(instruments, runs, **about)
