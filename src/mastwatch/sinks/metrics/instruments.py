"""What metrics are counted with, whoever exports them: Prometheus, OpenTelemetry, or both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from mastwatch.metric_names import Metric


class CounterChild(Protocol):
    """One series of a counter."""

    def inc(self, amount: float = 1, exemplar: Mapping[str, str] | None = None) -> None:
        """Count; the exemplar names the trace where it happened."""


class GaugeChild(Protocol):
    """One series of a gauge."""

    def set(self, value: float) -> None:
        """Show a value from now on."""

    def set_function(self, read: Callable[[], float]) -> None:
        """Show what ``read()`` says whenever somebody looks."""


class HistogramChild(Protocol):
    """One series of a histogram."""

    def observe(self, value: float) -> None:
        """Take in a value."""


class Counter(Protocol):
    """A family of counters; asking for a child makes it exist at 0."""

    def labels(self, *values: str) -> CounterChild:
        """The child with these label values."""


class Gauge(Protocol):
    """A family of gauges."""

    def labels(self, *values: str) -> GaugeChild:
        """The child with these label values."""


class Histogram(Protocol):
    """A family of histograms."""

    def labels(self, *values: str) -> HistogramChild:
        """The child with these label values."""


class Instruments(Protocol):
    """Makes families; one implementation per exporter."""

    def counter(self, metric: Metric, labels: Sequence[str]) -> Counter:
        """A counter."""

    def gauge(self, metric: Metric, labels: Sequence[str]) -> Gauge:
        """A gauge."""

    def histogram(
        self, metric: Metric, labels: Sequence[str], buckets: Sequence[float]
    ) -> Histogram:
        """A histogram with these upper bounds, infinity apart."""

    def after_fork(self) -> None:
        """Forget the parent's families: the child's are to begin at 0."""

    def close(self) -> None:
        """Take the families away."""


class Several:
    """Counts with several instruments at once.

    Args:
        all_of_them: Each counts everything.
    """

    def __init__(self, all_of_them: Sequence[Instruments]) -> None:
        self._all = tuple(all_of_them)

    def counter(self, metric: Metric, labels: Sequence[str]) -> Counter:
        """A counter in each."""
        return _Families([each.counter(metric, labels) for each in self._all])

    def gauge(self, metric: Metric, labels: Sequence[str]) -> Gauge:
        """A gauge in each."""
        return _Families([each.gauge(metric, labels) for each in self._all])

    def histogram(
        self, metric: Metric, labels: Sequence[str], buckets: Sequence[float]
    ) -> Histogram:
        """A histogram in each."""
        return _Families([each.histogram(metric, labels, buckets) for each in self._all])

    def after_fork(self) -> None:
        """Tell each."""
        for each in self._all:
            each.after_fork()

    def close(self) -> None:
        """Close each."""
        for each in self._all:
            each.close()


class _Families:
    def __init__(self, families: Sequence[Counter | Gauge | Histogram]) -> None:
        self._families = families

    def labels(self, *values: str) -> _Children:
        return _Children([family.labels(*values) for family in self._families])


class _Children:
    def __init__(self, children: Sequence[CounterChild | GaugeChild | HistogramChild]) -> None:
        self._children: Sequence[Any] = children

    def inc(self, amount: float = 1, exemplar: Mapping[str, str] | None = None) -> None:
        for child in self._children:
            child.inc(amount, exemplar)

    def set(self, value: float) -> None:
        for child in self._children:
            child.set(value)

    def set_function(self, read: Callable[[], float]) -> None:
        for child in self._children:
            child.set_function(read)

    def observe(self, value: float) -> None:
        for child in self._children:
            child.observe(value)
