"""The four dashboards."""

from __future__ import annotations

from generator.boards import fleet, judge, modes, runs
from generator.spec import Dashboard


def boards() -> tuple[Dashboard, ...]:
    """All dashboards, the one to open first at the head."""
    return fleet.board(), modes.board(), runs.board(), judge.board()
