"""The demo's apps, run for real as ``mastwatch demo`` runs them."""

import os
import re
import socket
import subprocess
import sys

import pytest

pytest.importorskip("autogen")
pytest.importorskip("langgraph")
pytest.importorskip("langchain")

# Whoever connects to anything but this machine fails.
OFFLINE = """
import socket, sys
real = socket.socket.connect
def connect(self, address):
    assert isinstance(address, str) or address[0] in ("127.0.0.1", "::1"), address
    return real(self, address)
socket.socket.connect = connect
from mastwatch.demo.main import run
sys.exit(run(sys.argv[1:]))
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def demo(*words):
    keep = {k: v for k, v in os.environ.items() if not k.startswith(("OTEL_", "OPENAI_"))}
    return subprocess.run(
        [sys.executable, "-c", OFFLINE, *words],
        capture_output=True,
        text=True,
        timeout=120,
        env={**keep, "MASTWATCH_PROMETHEUS_PORT": free_port()},
        check=False,
    )


@pytest.fixture(scope="module")
def told():
    return demo("--fast")


def chapters(output):
    """The lines of each story, between its heading and the next."""
    parts = re.split(r"^\d/4 .*\n", output.partition("\nsummary\n")[0], flags=re.MULTILINE)
    return dict(zip(("loop", "no_stop", "restart", "healthy"), parts[1:], strict=True))


def fired(lines):
    """Modes and levels in order, up to the run's end."""
    before, end, _ = lines.partition(" ended: ")
    assert end, lines
    return re.findall(r"(FM-\d\.\d) (\w+) ", before)


def test_the_demo_ends_by_itself_with_0_and_says_where_the_metrics_are(told):
    assert (told.returncode, told.stderr) == (0, "")
    assert re.search(r"^metrics: http://127\.0\.0\.1:\d+/metrics$", told.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("story", "mode"), [("loop", "FM-1.3"), ("no_stop", "FM-1.5"), ("restart", "FM-2.1")]
)
def test_each_failing_story_shows_its_mode_before_its_run_is_over(told, story, mode):
    levels = [level for code, level in fired(chapters(told.stdout)[story]) if code == mode]
    assert {"WARN", "ALERT"} & set(levels)


def test_each_failing_story_shows_no_other_mode_above_suspect(told):
    for story, mode in (("loop", "FM-1.3"), ("no_stop", "FM-1.5"), ("restart", "FM-2.1")):
        others = [said for said in fired(chapters(told.stdout)[story]) if said[0] != mode]
        assert [said for said in others if said[1] in ("WARN", "ALERT")] == [], story


def test_the_healthy_story_stays_silent(told):
    healthy = chapters(told.stdout)["healthy"]
    assert " ended: completed, " in healthy
    assert fired(healthy) == []


def test_one_story_can_be_told_alone_by_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "mastwatch", "demo", "--only", "langgraph_healthy"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0
    assert done.stdout.count(" started: ") == 1


def test_a_missing_framework_skips_its_stories_and_names_the_extra(monkeypatch, capsys):
    from mastwatch.demo import main

    monkeypatch.setattr(main.importlib.util, "find_spec", lambda name: None)
    assert main.run(["--plain", "--only", "ag2_loop"]) == 0
    assert "skipped: autogen is not installed (pip install 'mastwatch[demo]')" in (
        capsys.readouterr().out
    )
