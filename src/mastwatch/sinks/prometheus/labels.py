"""Label values that stay bounded whatever the host calls its agents and tools."""

from __future__ import annotations

MAX_LABEL_VALUES = 200
OTHER = "other"


class BoundedLabel:
    """The first 200 values of a free label; later ones read ``other``.

    >>> label = BoundedLabel(limit=1)
    >>> label("Planner"), label("Coder"), label("Planner"), label("")
    ('Planner', 'other', 'Planner', 'unknown')
    """

    def __init__(self, limit: int = MAX_LABEL_VALUES) -> None:
        self._limit = limit
        self._known: set[str] = set()

    def __call__(self, value: str) -> str:
        """The value to write for ``value``."""
        if value in self._known:
            return value
        if not value:
            return "unknown"
        if len(self._known) >= self._limit:
            return OTHER
        if len(value) > 120 or not value.isprintable():
            value = "".join(c if c.isprintable() else "?" for c in value[:120])
        self._known.add(value)
        return value
