"""Pre-fork servers: what happens in any worker reaches one real Prometheus, once."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from services.conftest import free_port, missing, wait_until

pytestmark = [pytest.mark.services, pytest.mark.slow]

WORKERS = 4
WORK = """
import os, pathlib, time
import mastwatch

mastwatch.instrument()

def work():
    "Plants one loop; comes back once each of the workers has been given one."
    with mastwatch.run("archive search", task="find the invoice"):
        for _ in range(4):
            mastwatch.message("Planner", "I will search the whole archive for it", to="Coder")
            mastwatch.tool("search", {"q": "invoice"}, agent="Coder", result="nothing found")
    folder = pathlib.Path(os.environ["WORKED"])
    (folder / str(os.getpid())).touch()
    deadline = time.monotonic() + 30
    while len(list(folder.iterdir())) < 4 and time.monotonic() < deadline:
        time.sleep(0.02)
"""
WEB = (
    WORK
    + """
def app(environ, start_response):
    if environ["PATH_INFO"] == "/work":
        work()
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [str(os.getpid()).encode()]
"""
)
TASKS = (
    WORK
    + """
from celery import Celery

folder = os.environ["BROKER"]
app = Celery("tasks", broker="filesystem://")
app.conf.broker_transport_options = {
    "data_folder_in": folder, "data_folder_out": folder, "control_folder": folder + "-control"}
app.conf.worker_prefetch_multiplier = 1
do = app.task(work, name="do")
"""
)
FLAGGED = 'mastwatch_flagged_runs_total{mode="FM-1.3",severity="warn",framework="custom"}'


@pytest.fixture
def place(tmp_path):
    """Starts a server in a folder of its own, with the ports and folders it needs."""
    processes = []
    (tmp_path / "worked").mkdir()
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OTEL_", "PROMETHEUS_"))}

    def start(*command: str, **environ: str) -> subprocess.Popen[bytes]:
        log = (tmp_path / "server.log").open("wb")
        own = {"WORKED": str(tmp_path / "worked"), "BROKER": str(tmp_path / "broker")}
        process = subprocess.Popen(
            [sys.executable, "-m", *command],
            cwd=tmp_path, stdout=log, stderr=log, env={**clean, **own, **environ},
        )  # fmt: skip
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def query(url: str, expression: str) -> list[dict]:
    address = f"{url}/api/v1/query?query={urllib.parse.quote(expression)}"
    return json.load(urllib.request.urlopen(address))["data"]["result"]


def value(url: str, expression: str) -> float:
    rows = query(url, expression)
    return float(rows[0]["value"][1]) if rows else -1.0


def gunicorn(place, tmp_path: Path, *options: str, **environ: str) -> int:
    """Serve the app with four workers; gives its port once it answers."""
    pytest.importorskip("gunicorn")
    (tmp_path / "web.py").write_text(WEB)
    port = free_port()
    place(
        "gunicorn", "-w", str(WORKERS), "-b", f"127.0.0.1:{port}", *options, "web:app", **environ
    )  # fmt: skip
    wait_until(lambda: bool(get(port, "/")), "gunicorn")
    return port


def get(port: int, path: str) -> bytes:
    return urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60).read()


def stored(path: Path) -> int:
    with closing(sqlite3.connect(path)) as store:
        return int(store.execute("SELECT count(*) FROM runs").fetchone()[0])


def work_in_each(port: int) -> None:
    with ThreadPoolExecutor(WORKERS) as pool:
        done = list(pool.map(lambda _: get(port, "/work"), range(WORKERS)))
    assert len(set(done)) == WORKERS


@pytest.mark.parametrize(("options", "processes"), [((), 4), (("--preload",), 5)])
def test_each_gunicorn_worker_serves_its_own_port_and_announces_it(
    place, prometheus, tmp_path, options, processes
) -> None:
    targets = tmp_path / "targets"
    first = free_port()
    port = gunicorn(
        place, tmp_path, *options,
        MASTWATCH_SD_DIR=str(targets), MASTWATCH_PROMETHEUS_PORT=str(first),
        MASTWATCH_STORE=str(tmp_path / "runs.sqlite"),
    )  # fmt: skip
    url = prometheus(targets)
    wait_until(lambda: value(url, "sum(up)") == processes, "all targets")
    # Every worker is scraped at 0 beforehand, so that the first finding is an increase.
    wait_until(lambda: value(url, f"count({FLAGGED} == 0)") == processes, "all series")
    work_in_each(port)
    wait_until(lambda: value(url, f"sum({FLAGGED})") == WORKERS, "four findings")
    assert value(url, f"count({FLAGGED} == 1)") == WORKERS
    wait_until(lambda: value(url, f"sum(increase({FLAGGED}[30s]))") > 0, "an increase")
    # Each worker has a thread and a connection of its own for the store, too.
    wait_until(lambda: stored(tmp_path / "runs.sqlite") == WORKERS, "four stored runs")


def test_a_killed_worker_is_no_target_and_its_successor_is_one(place, tmp_path) -> None:
    targets = tmp_path / "targets"
    gunicorn(
        place, tmp_path, "--preload",
        MASTWATCH_SD_DIR=str(targets), MASTWATCH_PROMETHEUS_PORT=str(free_port()),
    )  # fmt: skip

    def pids() -> set[int]:
        return {int(path.stem.rpartition("-")[2]) for path in targets.glob("*.json")}

    wait_until(lambda: len(pids()) == WORKERS + 1, "all targets")
    before = pids()
    killed = max(before)
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: len(pids()) == WORKERS + 1 and killed not in pids(), "the successor")
    assert before - {killed} < pids()


@pytest.mark.parametrize("options", [(), ("--preload",)])
def test_with_shared_values_one_port_serves_all_workers(
    place, prometheus, tmp_path, options
) -> None:
    port_of_metrics = free_port()
    port = gunicorn(
        place, tmp_path, *options,
        PROMETHEUS_MULTIPROC_DIR=str(tmp_path / "values"),
        MASTWATCH_PROMETHEUS_PORT=str(port_of_metrics),
    )  # fmt: skip
    url = prometheus(port_of_metrics)
    wait_until(lambda: value(url, FLAGGED) == 0, "the series")
    before = value(url, 'count({__name__=~"mastwatch_.*"})')
    work_in_each(port)
    wait_until(lambda: value(url, f"sum({FLAGGED})") == WORKERS, "four findings")
    assert len(query(url, FLAGGED)) == 1
    assert query(url, '{__name__=~"mastwatch_.*",pid!=""}') == []
    # Four workers show as many series as one would: what one run adds, not four times that.
    assert value(url, 'count({__name__=~"mastwatch_.*"})') < before + 100


def test_each_celery_worker_serves_its_own_port_and_announces_it(
    place, prometheus, tmp_path
) -> None:
    try:
        import celery  # noqa: F401
    except ImportError:
        missing("celery")
    (tmp_path / "tasks.py").write_text(TASKS)
    for name in ("broker", "broker-control"):
        (tmp_path / name).mkdir()
    targets = tmp_path / "targets"
    environ = {
        "MASTWATCH_SD_DIR": str(targets),
        "MASTWATCH_PROMETHEUS_PORT": str(free_port()),
    }
    place("celery", "-A", "tasks", "worker", "-P", "prefork", "-c", str(WORKERS), **environ)
    url = prometheus(targets)
    wait_until(lambda: value(url, f"count({FLAGGED} == 0)") == WORKERS + 1, "all series")
    send = "import tasks\nfor _ in range(4): tasks.do.delay()"
    subprocess.run(
        [sys.executable, "-c", send], cwd=tmp_path, check=True,
        env={**os.environ, "WORKED": str(tmp_path / "worked"), "BROKER": str(tmp_path / "broker"),
             "MASTWATCH_METRICS": "none"},
    )  # fmt: skip
    wait_until(lambda: value(url, f"sum({FLAGGED})") == WORKERS, "four findings")
    assert value(url, f"count({FLAGGED} == 1)") == WORKERS
