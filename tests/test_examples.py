"""The examples run as they are and say what their first lines promise."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def play(name: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name / "app.py")],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_own_agents_are_watched() -> None:
    lines = play("own_agents")
    assert "FM-1.3 warn: Clerk, row 5" in lines[:-1]
    assert lines[-1].startswith("run ")


def test_a_callback_can_stop_a_run() -> None:
    pytest.importorskip("autogen")
    [line] = play("react_to_findings")
    assert line.startswith("stopped: FM-1.5 at row ")
