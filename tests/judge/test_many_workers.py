"""Eight processes on one store, three of them killed: one report per run, within one limit."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
from collections import Counter
from pathlib import Path

import pytest

from judge.stub import trace
from mastwatch.store.sqlite import SqliteStore

RUNS, PROCESSES, KILLED, LIMIT = 1_000, 8, 3, 700

WORKER = """
    import asyncio, os, sys, time
    from dataclasses import replace
    from judge.stub import SETTINGS, StubModel, absent, judging
    from mastwatch.judge.worker import Listener, Worker
    from mastwatch.store import Limits
    from mastwatch.store.sqlite import SqliteStore

    days, limit = int(sys.argv[1]), int(sys.argv[2])
    clock = lambda: time.time() + 86_400 * days
    store = SqliteStore(sys.argv[3], clock=clock)
    calls, given = (os.open(name, os.O_APPEND | os.O_WRONLY | os.O_CREAT) for name in sys.argv[4:])

    def answer(ask):
        os.write(calls, b"call\\n")
        return absent(ask)

    class Given(Listener):
        def on_report(self, report, trace):
            os.write(given, report.run_id.encode() + b"\\n")

    settings = replace(SETTINGS, per_day=Limits(calls=limit), cache=False)
    model = StubModel(answer, seconds=0.02)
    make = judging(model, settings, store)
    worker = Worker(store, make, [Given()], at_once=4, lease=3.0, poll=0.2, clock=clock)
    asyncio.run(worker.run(once=True))
"""


def start(folder: Path, days: int = 0) -> subprocess.Popen[bytes]:
    names = [str(folder / name) for name in ("runs.sqlite", "calls", "given")]
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(WORKER), str(days), str(LIMIT), *names],
        cwd=Path(__file__).parents[1],
        stderr=subprocess.DEVNULL,
    )


def lines(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


@pytest.mark.slow
def test_all_runs_one_report_each_within_the_limit(tmp_path) -> None:
    store = SqliteStore(tmp_path / "runs.sqlite")
    for number in range(RUNS):
        store.add(trace(number), job="judge", trigger="outcome")
    workers = [start(tmp_path) for _ in range(PROCESSES)]
    for victim in workers[:KILLED]:
        so_far = len(lines(tmp_path / "calls"))
        deadline = time.monotonic() + 60
        while len(lines(tmp_path / "calls")) < min(so_far + 60, LIMIT - 60):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        victim.kill()
    assert [worker.wait(timeout=120) for worker in workers[KILLED:]] == [0] * 5
    # What was set aside for a call of a killed process counts as spent: less is judged, never more.
    calls = len(lines(tmp_path / "calls"))
    assert LIMIT - KILLED * 4 <= calls <= LIMIT
    assert store.spent().calls <= LIMIT
    done = store.queue("judge")["done"]
    assert calls - KILLED * 4 <= done <= calls

    workers = [start(tmp_path, days=1) for _ in range(2)]
    assert [worker.wait(timeout=120) for worker in workers] == [0, 0]
    assert store.queue("judge") == {"waiting": 0, "running": 0, "done": RUNS}
    assert all(store.report(f"run-{number}") is not None for number in range(RUNS))
    assert max(Counter(lines(tmp_path / "given")).values()) == 1
