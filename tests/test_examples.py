"""The examples run as they are and say what their first lines promise."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

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


def test_a_run_that_goes_nowhere_is_halted() -> None:
    pytest.importorskip("autogen")
    assert play("react_to_findings") == ["FM-1.5 at message 5", "6 messages"]


OWN = EXAMPLES / "own_detector"
OWN_INSTRUMENTOR = EXAMPLES / "own_instrumentor"


def installed_in(folder: Path, example: Path) -> dict[str, str]:
    """The environment of a process that has an example's package installed beside mastwatch.

    What an installer leaves behind is written by hand: the build backend may not be at hand.
    """
    project = tomllib.loads((example / "pyproject.toml").read_text())["project"]
    shutil.copytree(example / "src", folder, dirs_exist_ok=True)
    stem = f"{project['name'].replace('-', '_')}-{project['version']}"
    info = folder / f"{stem}.dist-info"
    info.mkdir()
    header = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (info / "METADATA").write_text(header)
    points = [
        line
        for group, entries in project["entry-points"].items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in entries.items()))
    ]
    (info / "entry_points.txt").write_text("\n".join(points))
    return {**os.environ, "PYTHONPATH": str(folder)}


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, str]:
    return installed_in(tmp_path, OWN)


@pytest.fixture
def with_instrumentor(tmp_path: Path) -> dict[str, str]:
    return installed_in(tmp_path, OWN_INSTRUMENTOR)


def output(arguments: list[str], environment: dict[str, str], folder: Path = OWN) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=folder,
        env=environment,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_detector_of_a_stranger_is_listed(installed: dict[str, str]) -> None:
    listed = output(["mastwatch", "plugins", "--json"], installed).splitlines()
    [own] = [row for row in map(json.loads, listed) if row["name"] == "unknown_tools"]
    assert own["distribution"] == "mastwatch-unknown-tools"
    assert own["loaded"]


def test_detector_of_a_stranger_detects(installed: dict[str, str]) -> None:
    found = output(["mastwatch", "detect", "runs.jsonl", "--mode", "FM-1.2"], installed)
    [finding] = map(json.loads, found.splitlines())
    assert (finding["run"], finding["agent"], finding["message_index"]) == ("voyage-1", "pilot", 4)


@pytest.mark.slow
def test_own_tests_of_the_stranger_pass(installed: dict[str, str]) -> None:
    told = output(["pytest", "-q", "-p", "no:cacheprovider"], installed)
    assert "4 passed" in told


def test_instrumentor_of_a_stranger_is_listed(with_instrumentor: dict[str, str]) -> None:
    listed = output(["mastwatch", "plugins", "--json"], with_instrumentor).splitlines()
    [own] = [row for row in map(json.loads, listed) if row["name"] == "acme"]
    assert own["distribution"] == "mastwatch-acme"
    assert own["loaded"]


@pytest.mark.slow
def test_own_tests_of_the_stranger_s_instrumentor_pass(with_instrumentor: dict[str, str]) -> None:
    command = ["pytest", "-q", "-p", "no:cacheprovider"]
    assert "3 passed" in output(command, with_instrumentor, OWN_INSTRUMENTOR)


def test_the_skeleton_of_the_readme_is_the_one_that_passes() -> None:
    """What is copied from there works as it stands."""
    readme = (EXAMPLES.parent / "instrumentations" / "README.md").read_text()
    module = (OWN_INSTRUMENTOR / "src" / "mastwatch_acme" / "__init__.py").read_text()
    points = (OWN_INSTRUMENTOR / "pyproject.toml").read_text()
    found = re.findall(r"^ +```(?:python|toml)\n(.*?)^ +```", readme, re.MULTILINE | re.DOTALL)
    blocks = [textwrap.dedent(block) for block in found]
    assert module in blocks
    assert [block for block in blocks if "entry-points" in block and block in points]
