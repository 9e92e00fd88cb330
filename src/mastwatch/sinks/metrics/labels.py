"""Label values that stay bounded whatever the host calls its agents and tools."""

from __future__ import annotations

MAX_LABEL_VALUES = 200
MAX_BYTES = 64
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
        value = clean(value)
        if value in self._known:
            return value
        if len(self._known) >= self._limit:
            return OTHER
        self._known.add(value)
        return value


def clean(value: str) -> str:
    r"""A value that every exporter takes: short and printable.

    >>> clean("two\nlines"), len(clean("long" * 1000))
    ('two?lines', 64)
    """
    value = value[:MAX_BYTES]
    if not value.isprintable():
        value = "".join(char if char.isprintable() else "?" for char in value)
    return value.encode()[:MAX_BYTES].decode(errors="ignore")
