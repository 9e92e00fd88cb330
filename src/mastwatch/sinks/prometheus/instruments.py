"""Counting with prometheus_client, in one process or with values shared by several."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, TypeVar

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.samples import Sample

from mastwatch import forks, metric_names
from mastwatch.metric_names import Metric
from mastwatch.sinks.prometheus import shared

_Collector = TypeVar("_Collector", Counter, Gauge, Histogram)
_Mode = Literal["livesum", "livemin", "livemax"]

# How a gauge of several processes is put together. Only of those alive; and never one series per
# process, or every restarted worker would leave some behind.
_MODES: dict[str, _Mode] = {
    metric_names.RUNS_ACTIVE.name: "livesum",
    metric_names.RUNS_WITHOUT_TEXT.name: "livesum",
    metric_names.HOOK_STATUS.name: "livemin",
}


class PrometheusInstruments:
    """Makes families in a registry.

    Args:
        registry: Where they live; prometheus_client's default one if None.

    Attributes:
        registry: Where they live.
        shared: Whether values are kept in files, for several processes.

    Raises:
        OSError: The folder of shared values cannot be made.
    """

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = REGISTRY if registry is None else registry
        self.shared = shared.folder() is not None
        self._collectors: list[Any] = []
        self._reads: dict[Gauge, Callable[[], float]] = {}

    def counter(self, metric: Metric, labels: Sequence[str]) -> Any:
        """A counter."""
        return self._keep(_Counter(metric.name, metric.help, labels, registry=self.registry))

    def gauge(self, metric: Metric, labels: Sequence[str]) -> Any:
        """A gauge."""
        mode = _MODES.get(metric.name, "livemax")
        gauge = Gauge(
            metric.name, metric.help, labels, registry=self.registry, multiprocess_mode=mode
        )
        return _WrittenGauge(self._keep(gauge), self._reads) if self.shared else self._keep(gauge)

    def histogram(self, metric: Metric, labels: Sequence[str], buckets: Sequence[float]) -> Any:
        """A histogram."""
        return self._keep(
            _Histogram(metric.name, metric.help, labels, buckets=buckets, registry=self.registry)
        )

    def _keep(self, collector: _Collector) -> Any:
        self._collectors.append(collector)
        return collector if collector._labelnames else _Only(collector)

    def refresh(self) -> None:
        """Write what gauges read; they cannot be asked from another process."""
        for gauge, read in list(self._reads.items()):
            gauge.set(read())

    def after_fork(self) -> None:
        """Forget the parent's families."""
        forks.free(self.registry._lock)  # a scrape of the parent may have held it
        self.close()

    def close(self) -> None:
        """Take the families out of the registry."""
        for gauge in self._reads:  # in a file, the last value would stand
            gauge.set(0)
        self._reads.clear()
        for collector in self._collectors:
            self.registry.unregister(collector)
        self._collectors.clear()


class _Counter(Counter):
    """Without the series ``_created``, which double what is scraped and say nothing here."""

    def _child_samples(self) -> Iterable[Sample]:
        return _without_created(super()._child_samples())


class _Histogram(Histogram):
    def _child_samples(self) -> Iterable[Sample]:
        return _without_created(super()._child_samples())


def _without_created(samples: Iterable[Sample]) -> Iterable[Sample]:
    return tuple(sample for sample in samples if sample.name != "_created")


class _Only:
    """A family without labels: its only child is itself."""

    def __init__(self, child: Counter | Gauge | Histogram) -> None:
        self._child = child

    def labels(self) -> Any:
        return self._child


class _WrittenGauge:
    """A gauge whose value stands in a file."""

    def __init__(self, gauge: Gauge, reads: dict[Gauge, Callable[[], float]]) -> None:
        self._gauge = gauge
        self._reads = reads

    def labels(self, *values: str) -> _WrittenChild:
        return _WrittenChild(self._gauge.labels(*values), self._reads)


class _WrittenChild:
    def __init__(self, child: Gauge, reads: dict[Gauge, Callable[[], float]]) -> None:
        self._child = child
        self._reads = reads
        self.set = child.set

    def set_function(self, read: Callable[[], float]) -> None:
        self._reads[self._child] = read
        self._child.set(read())
