"""Keeps our own log lines out of the picture while the view is up.

Where the host configured no logging, Python writes warnings to stderr, the very place of the view,
and each finding would stand there twice. A host that has handlers of its own keeps all its lines.
"""

from __future__ import annotations

import logging
from collections import deque

_LOGGER = "mastwatch"
MAX_KEPT = 20


class Quiet(logging.Handler):
    """Stands in for Python's last-resort handler: drops findings, keeps the rest for the end."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.kept: deque[str] = deque(maxlen=MAX_KEPT)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line, unless it says what the view shows already."""
        line = record.getMessage()
        if not line.startswith(("event='finding'", "event='notice'")):
            self.kept.append(line)

    def attach(self) -> None:
        """Take the place, where it is free."""
        logger = logging.getLogger(_LOGGER)
        if not logger.hasHandlers():
            logger.addHandler(self)

    def detach(self) -> list[str]:
        """Give the place back; returns what was kept."""
        logging.getLogger(_LOGGER).removeHandler(self)
        return list(self.kept)
