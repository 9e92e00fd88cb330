"""A file of results that grows as they are made, so that an interrupted evaluation can go on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def begin(path: Path, header: Mapping[str, str]) -> list[Any]:
    """Read what a file holds, without lines that an interruption cut; begin it where there is none.

    Args:
        path: The file.
        header: Its first line: what was asked of whom.

    Raises:
        ValueError: The file is of something else.
        OSError: It cannot be read or begun.
    """
    first = json.dumps(header)
    path.touch(mode=0o600)  # results quote the runs
    text = path.read_text(encoding="utf-8")
    if not text:
        path.write_text(f"{first}\n", encoding="utf-8")
        return []
    found, *lines = text.splitlines()
    if found != first:
        what = next(iter(header))
        raise ValueError(
            f"{path} holds no results of this {what} with these options; name another file"
        )
    if not text.endswith("\n"):  # a line was cut off; what comes next begins a new one
        with path.open("a", encoding="utf-8") as file:
            file.write("\n")
    return [value for line in lines for value in _read(line)]


def append(path: Path, value: Any) -> None:
    """Write one more result."""
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{json.dumps(value)}\n")


def _read(line: str) -> list[Any]:
    try:
        return [json.loads(line)]
    except ValueError:
        return []
