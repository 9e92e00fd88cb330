"""The recorded runs that commands are given: files, folders of them, and stdin."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence

from mastwatch.formats import Problem, RecordedRun, Where, format_names, read_runs

_TEXTS = (".jsonl", ".json", ".ndjson", ".log", ".txt")
_DATABASES = (".db", ".sqlite", ".sqlite3")
_SUFFIXES = (*_TEXTS, *(f"{suffix}.gz" for suffix in _TEXTS), *_DATABASES)


def add_format(parser: argparse.ArgumentParser) -> None:
    """Add the option that names the format of the files."""
    parser.add_argument(
        "--format",
        default="auto",
        choices=format_names(),
        metavar="NAME",
        help=f"of the files, one of {', '.join(format_names())} (default: auto)",
    )


def read(files: Sequence[str], format: str) -> Iterator[RecordedRun | Problem]:
    """Read the runs of files, folders of logs, and ``-``, which is stdin."""
    for file in files:
        if file == "-":
            yield from read_runs(sys.stdin.buffer, format, name="<stdin>")
        elif os.path.isdir(file):
            closed: list[OSError] = []
            inside = list(logs(file, closed.append))
            for error in closed:
                yield Problem(Where(error.filename), f"cannot be opened ({error.strerror})")
            for path in inside:
                yield from read_runs(path, format)
            if not inside and not closed:
                names = ", ".join(f"*{suffix}" for suffix in (*_TEXTS, *_DATABASES))
                yield Problem(Where(file), f"holds no {names} (or *.gz of them)")
        else:
            yield from read_runs(file, format)


def logs(folder: str, closed: Callable[[OSError], object] | None = None) -> Iterator[str]:
    """The logs in a folder and those below it, by their endings; hidden ones are left out.

    Args:
        folder: Where to look.
        closed: Is told of folders that cannot be opened.
    """
    for where, folders, names in os.walk(folder, onerror=closed):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = os.path.join(where, name)
            if not name.lower().endswith(_SUFFIXES) or name.startswith("."):
                continue
            # A pipe or socket that lies about would be waited for; a broken link is told.
            if os.path.isfile(path) or not os.path.exists(path):
                yield path
