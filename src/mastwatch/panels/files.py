"""Where the files that ship are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import mastwatch

_PACKAGE = Path(mastwatch.__file__).parent
_SHIPPED, _CHECKOUT = _PACKAGE / "_dashboards", _PACKAGE.parents[1] / "dashboards"

ORDER = ("fleet", "failure-modes", "run-and-agent", "judge")
"""The dashboard to open first at the head."""


@cache
def folder() -> Path:
    """The folder ``dashboards``: of the installed package, else of the clone."""
    return _SHIPPED if _SHIPPED.is_dir() else _CHECKOUT


class DashboardError(Exception):
    """A dashboard's file cannot be used; the text says which and why."""


def dashboards(paths: Sequence[Path] = ()) -> list[dict[str, Any]]:
    """Dashboards as Grafana takes them.

    Args:
        paths: Their files; those that ship by default.

    Raises:
        DashboardError: A file is missing or no dashboard.
    """
    chosen = list(paths) or sorted((folder() / "grafana").glob("*.json"), key=_place)
    if not chosen:
        raise DashboardError(f"no dashboards in {folder() / 'grafana'}")
    return [_read(path) for path in chosen]


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DashboardError(f"{path}: {error}") from error
    if not isinstance(found, dict) or not isinstance(found.get("panels"), list):
        raise DashboardError(f"{path}: it has no panels; a dashboard's JSON is expected")
    return found


def _place(path: Path) -> tuple[int, str]:
    known = path.stem in ORDER
    return ORDER.index(path.stem) if known else len(ORDER), path.stem
