"""``check_instrumentor``: the contract of an instrumentor, put to any of them by its Exercise."""

from mastwatch.testing.instrumentors.contract import check_instrumentor
from mastwatch.testing.instrumentors.exercise import Exercise

__all__ = ["Exercise", "check_instrumentor"]
