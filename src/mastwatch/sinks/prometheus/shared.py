"""Several processes behind one ``/metrics``: the folder ``PROMETHEUS_MULTIPROC_DIR``.

prometheus_client writes each process's values into files there. Any process can put them together,
so exactly one serves: the one that holds a lock in the folder. When it dies the lock is free, and
the next process that looks takes over.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import IO

from prometheus_client import CollectorRegistry, values
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from mastwatch.sinks.prometheus.discovery import alive

try:
    import fcntl
except ImportError:  # Windows, where nobody forks
    fcntl = None  # type: ignore[assignment]

_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
_LOCK = "mastwatch.lock"
_LIVE_GAUGES = re.compile(r"gauge_live[a-z]*_(\d+)\.db")


def folder() -> Path | None:
    """The folder, where prometheus_client keeps values in files; made if it is missing.

    It looks at the variable once, when it is imported first: set later, it has no effect.

    Raises:
        OSError: The folder cannot be made.
    """
    if not getattr(values.ValueClass, "_multiprocess", False):
        return None
    path = Path(os.environ[_VARIABLE])
    path.mkdir(parents=True, exist_ok=True)
    return path


def everything(path: Path) -> CollectorRegistry:
    """A registry with the values of all processes put together."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry, str(path))  # type: ignore[no-untyped-call]
    return registry


def bury(path: Path) -> None:
    """Remove the gauges of processes that are dead; their counts stay, and stay in the totals."""
    dead = {int(m[1]) for f in path.iterdir() if (m := _LIVE_GAUGES.fullmatch(f.name))}
    for pid in dead:
        if not alive(pid):
            mark_process_dead(pid, str(path))  # type: ignore[no-untyped-call]


class Turn:
    """Whose turn it is to serve a folder.

    Args:
        path: The folder.
    """

    def __init__(self, path: Path) -> None:
        self._path = path / _LOCK
        self._file: IO[bytes] | None = None

    def take(self) -> bool:
        """Whether it is ours now, and until this process ends."""
        if self._file is not None or fcntl is None:
            return True
        file = self._path.open("ab")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            return False
        self._file = file
        return True

    def give_up(self) -> None:
        """Let another one serve; in a forked child, let go of what is the parent's."""
        if self._file is not None:
            self._file.close()
            self._file = None
