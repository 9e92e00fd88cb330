"""Metrics of several processes: a forked child's own, a folder of targets, shared values."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics.exposition import generate_latest as open_metrics

import mastwatch
from mastwatch import forks
from mastwatch.settings import load
from mastwatch.sinks.prometheus.discovery import TargetFile
from mastwatch.sinks.prometheus.endpoint import MetricsServer
from mastwatch.sinks.prometheus.shared import Turn

LOOP = """
import os, signal, urllib.request
import mastwatch

def loop():
    with mastwatch.run("search"):
        for _ in range(4):
            mastwatch.message("Planner", "I will search the whole archive for it", to="Coder")
            mastwatch.tool("search", {"q": "invoice"}, agent="Coder", result="nothing found")

def seen():
    text = urllib.request.urlopen(handle.metrics_url, timeout=5).read().decode()
    start = 'mastwatch_flagged_runs_total{framework="custom",mode="FM-1.3",severity="warn"}'
    return sum(float(l.split()[-1]) for l in text.splitlines() if l.startswith(start))

handle = mastwatch.instrument()
"""


def in_child(code: str) -> str:
    return (
        "\npid = os.fork()\nif not pid:\n    signal.alarm(20)\n"
        + "".join(f"    {line}\n" for line in code.strip().splitlines())
        + "    os._exit(0)\nassert os.waitpid(pid, 0)[1] == 0\n"
    )


def run(code: str, **environ: str) -> str:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OTEL_", "PROMETHEUS_"))}
    done = subprocess.run(
        [sys.executable, "-c", LOOP + code], env={**clean, **environ}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_forked_child_counts_from_zero_and_serves_with_its_first_event() -> None:
    code = "loop()\nassert seen() == 1\nparent = handle.metrics_url" + in_child(
        "assert handle.metrics_url is None\n"
        "loop(); loop()\n"
        "assert handle.metrics_url not in (None, parent)\n"
        "assert seen() == 2, seen()"
    )
    run(code + "assert seen() == 1", MASTWATCH_PROMETHEUS_PORT=str(free_port()))


def test_a_child_with_a_folder_of_targets_serves_at_once(tmp_path) -> None:
    child = in_child(
        "assert seen() == 0\n"
        f"assert len(os.listdir({str(tmp_path)!r})) == 2, os.listdir({str(tmp_path)!r})"
    )
    # The child ended without a word: the parent's next scrape removes its file.
    after = f"seen()\nassert len(os.listdir({str(tmp_path)!r})) == 1"
    run(child + after, MASTWATCH_PROMETHEUS_PORT=str(free_port()), MASTWATCH_SD_DIR=str(tmp_path))
    assert list(tmp_path.iterdir()) == []  # removed at exit


def test_fork_while_another_thread_holds_every_lock_of_ours() -> None:
    code = """
import threading
from mastwatch import forks
held = list(forks._locks)
taken = threading.Event()
def take():
    for lock in held: lock.acquire()
    taken.set()
    threading.Event().wait()
threading.Thread(target=take, daemon=True).start()
taken.wait()
""" + in_child("loop()\nassert seen() == 1")
    run(code + "os._exit(0)", MASTWATCH_PROMETHEUS_PORT=str(free_port()))


def test_shared_values_add_up_and_the_next_process_takes_over(tmp_path) -> None:
    environ = {
        "PROMETHEUS_MULTIPROC_DIR": str(tmp_path / "values"),
        "MASTWATCH_PROMETHEUS_PORT": str(free_port()),
    }
    run("loop()" + in_child("loop()\nassert handle.metrics_url is None") + "assert seen() == 2",
        **environ)  # fmt: skip
    assert run("print(seen())", **environ).split()[-1] == "2.0"  # counts outlive their processes
    assert list((tmp_path / "values").glob("gauge_livesum_*.db"))


def test_gauges_of_dead_processes_are_gone_at_the_next_scrape(tmp_path) -> None:
    values = tmp_path / "values"
    values.mkdir()
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    (values / f"gauge_livesum_{dead.pid}.db").write_bytes(b"\0" * 65_536)
    run("seen()", PROMETHEUS_MULTIPROC_DIR=str(values), MASTWATCH_PROMETHEUS_PORT=str(free_port()))
    assert not (values / f"gauge_livesum_{dead.pid}.db").exists()


def test_only_one_has_the_turn_until_it_gives_it_up(tmp_path) -> None:
    first, second = Turn(tmp_path), Turn(tmp_path)
    assert first.take()
    assert first.take()
    assert not second.take()
    first.give_up()
    assert second.take()
    second.give_up()


def test_a_target_of_all_addresses_is_told_by_the_machines_name(tmp_path) -> None:
    target = TargetFile(tmp_path / "new", "0.0.0.0", 9464)
    [path] = (tmp_path / "new").iterdir()
    [said] = json.loads(path.read_text())
    assert said["targets"] == [f"{socket.gethostname()}:9464"]
    target.remove()
    target.remove()  # harmless
    assert not path.exists()


def test_files_of_dead_processes_go_and_those_of_other_machines_stay(tmp_path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    mine = tmp_path / f"mastwatch-{socket.gethostname()}-{dead.pid}.json"
    others = tmp_path / f"mastwatch-elsewhere-{dead.pid}.json"
    for path in (mine, others):
        path.write_text("[]")
    TargetFile(tmp_path, "127.0.0.1", 9464).remove()
    assert list(tmp_path.iterdir()) == [others]


def test_with_a_folder_any_free_port_will_do() -> None:
    registry = CollectorRegistry()
    first = MetricsServer("127.0.0.1", 0, registry)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("mastwatch.sinks.prometheus.endpoint.PORTS_TRIED", 1)
            with pytest.raises(OSError, match="in use"):
                MetricsServer("127.0.0.1", first.port, registry)
            other = MetricsServer("127.0.0.1", first.port, registry, or_any=True)
        assert other.port not in (0, first.port)
        other.close()
    finally:
        first.close()


def test_a_folder_that_cannot_be_written_to_is_said(tmp_path, caplog) -> None:
    (tmp_path / "file").touch()
    with mastwatch.instrument(
        prometheus_port=free_port(), prometheus_sd_dir=str(tmp_path / "file")
    ) as handle:
        assert handle.metrics_url
    assert "prometheus_sd_dir" in caplog.text


@pytest.mark.parametrize(
    ("said", "metrics"),
    [
        ("otlp", "otlp"),
        ("prometheus", "prometheus"),
        ("otlp,prometheus", "both"),
        ("none", "none"),
        ("console", "prometheus"),
    ],
)
def test_otel_metrics_exporter_chooses_where_nothing_else_does(said, metrics) -> None:
    environ = {"OTEL_METRICS_EXPORTER": said}
    assert load({}, environ=environ, directory=Path("/nowhere")).metrics == metrics
    environ["MASTWATCH_METRICS"] = "none"
    assert load({}, environ=environ, directory=Path("/nowhere")).metrics == "none"


def test_otlp_without_anybody_to_send_to_is_said(caplog, monkeypatch) -> None:
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT", raising=False)
    with mastwatch.instrument(metrics="otlp"), mastwatch.run("w"):
        mastwatch.message("A", "hello", to="B")
    assert "nothing is exported by OTLP" in caplog.text


def test_a_finding_carries_its_trace_as_an_exemplar() -> None:
    registry = CollectorRegistry()
    with mastwatch.instrument(registry=registry), mastwatch.run("w"):
        for _ in range(4):
            mastwatch.message("Planner", "I will search the whole archive for it", to="Coder")
            mastwatch.tool("search", {"q": "x"}, agent="Coder", result="nothing found")
        text = open_metrics(registry).decode()
    lines = [line for line in text.splitlines() if "# {" in line and 'mode="FM-1.3"' in line]
    assert lines
    assert all('trace_id="' in line and 'span_id="' in line for line in lines)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nobody forks here")
def test_a_lock_is_free_in_the_child() -> None:
    lock = forks.lock()
    lock.acquire()
    pid = os.fork()
    if not pid:
        signal.alarm(10)
        os._exit(0 if lock.acquire(timeout=1) else 1)
    assert os.waitpid(pid, 0)[1] == 0
    lock.release()
