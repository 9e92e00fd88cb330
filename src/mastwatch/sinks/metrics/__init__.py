"""What the watch says, counted with the instruments of whoever exports it."""

from __future__ import annotations

from mastwatch.sinks.metrics.instruments import Instruments, Several
from mastwatch.sinks.metrics.labels import BoundedLabel
from mastwatch.sinks.metrics.sink import MetricsSink

__all__ = ["BoundedLabel", "Instruments", "MetricsSink", "Several"]
