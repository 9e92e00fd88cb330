"""A folder in which each process says where it serves, for Prometheus's ``file_sd_configs``."""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
from pathlib import Path

from mastwatch.sinks.prometheus.endpoint import bracketed

_WILDCARDS = ("0.0.0.0", "::", "")


class TargetFile:
    """One process's file, with one target.

    It is named by host and process: a process only ever removes files of its own host, since
    elsewhere its numbers mean other processes.

    Args:
        folder: Where the files are; made if it is missing.
        host: What is served on. Of a wildcard, the machine's name is told.
        port: The port.

    Raises:
        OSError: The folder cannot be made or written to.
    """

    def __init__(self, folder: str | Path, host: str, port: int) -> None:
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        self._path = self._folder / f"{_prefix()}{os.getpid()}.json"
        shown = socket.gethostname() if host in _WILDCARDS else host
        target = {
            "targets": [f"{bracketed(shown)}:{port}"],
            # Not kept by Prometheus unless relabelled: with it, each restart is a new series.
            "labels": {"__meta_mastwatch_pid": str(os.getpid())},
        }
        # Whole or not at all, and under a name that no pattern of Prometheus takes until it is.
        fresh = self._path.with_suffix(".tmp")
        fresh.write_text(json.dumps([target]) + "\n", encoding="utf-8")
        fresh.replace(self._path)
        self.sweep()

    def sweep(self) -> None:
        """Remove the files of processes that are dead."""
        for path in self._folder.glob("mastwatch-*.json"):
            pid = re.fullmatch(re.escape(_prefix()) + r"(\d+)\.json", path.name)
            if pid and not alive(int(pid[1])):
                path.unlink(missing_ok=True)

    def remove(self) -> None:
        """Take the target away."""
        with contextlib.suppress(OSError):  # the folder may be gone, or no longer ours
            self._path.unlink(missing_ok=True)


def _prefix() -> str:
    return f"mastwatch-{re.sub(r'[^A-Za-z0-9.-]', '-', socket.gethostname())}-"


def alive(pid: int) -> bool:
    """Whether a process of this machine is there.

    >>> alive(os.getpid())
    True
    """
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is somebody else's
        return True
    return True
