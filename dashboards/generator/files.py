"""All generated files of the repository, by path."""

from __future__ import annotations

from pathlib import Path

from generator.boards import boards
from generator.grafana import to_json
from generator.mode_pages import mode_pages
from mastwatch.panels.rules import rule_files

ROOT = Path(__file__).resolve().parents[2]


def generated() -> dict[str, str]:
    """Path in the repository and text of every generated file."""
    return {
        **{f"dashboards/grafana/{board.name}.json": to_json(board) for board in boards()},
        **{f"dashboards/prometheus/{name}": text for name, text in rule_files().items()},
        **mode_pages(ROOT),
    }
