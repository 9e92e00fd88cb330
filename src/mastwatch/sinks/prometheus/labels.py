"""Bounded label values, for the judge's metrics."""

from __future__ import annotations

from mastwatch.sinks.metrics.labels import BoundedLabel

__all__ = ["BoundedLabel"]
