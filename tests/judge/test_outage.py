"""A thousand finished runs while the model's server is down, then slow, then well again."""

from __future__ import annotations

import resource
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import prometheus_client
import pytest

pytest.importorskip("openai")

import mastwatch
from judge.stub import LOOP
from mastwatch.judge import pace
from mastwatch.judge.worker import fate
from mastwatch.sinks.verdicts import VerdictEvents
from mastwatch.store.sqlite import SqliteStore
from mastwatch.testing import ScriptedModelServer
from mastwatch.testing.model_server import DISCONNECT, Said

RUNS = 1_000
TEXTS = ("Find the harbour log.", LOOP, "Nothing there yet.", LOOP, "I give up.") * 8


class Phases:
    """A server that is down for a while, then slow, then well."""

    def __init__(self) -> None:
        self.now = "down"
        self.asked: Counter[str] = Counter()

    def __call__(self, request: dict[str, Any]) -> Any:
        self.asked[self.now] += 1
        if self.now == "down":
            return DISCONNECT
        schema = request["response_format"]["json_schema"]["schema"]
        none = {"verdict": "absent", "confidence": 0.9, "evidence": [], "why": "looked"}
        modes = dict.fromkeys(schema["properties"]["modes"]["required"], none)
        reply = {"modes": modes, "task_completed": "no"}
        return Said(content=reply, delay=0.3 if self.now == "slow" else 0.0)


def host(first: int, count: int) -> list[float]:
    """Runs of a host's; returns how long each message took it, in seconds."""
    took = []
    for number in range(first, first + count):
        with mastwatch.run(f"run {number}", task=f"Task {number}"):
            for text in TEXTS:
                started = time.perf_counter()
                mastwatch.message("Clerk", f"{text} ({number})")
                took.append(time.perf_counter() - started)
                time.sleep(0.000_05)  # other work, in which the judge may have its turn
            mastwatch.outcome(success=False)
    return took


def until(true: Callable[[], Any], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def without_judge(path: Path) -> list[float]:
    registry = prometheus_client.CollectorRegistry()
    with mastwatch.instrument(store=path, registry=registry, detectors=()) as handle:
        took = host(0, RUNS // 2)
        assert handle.flush(60.0)
    return took


@pytest.mark.slow
def test_every_run_ends_with_one_report(tmp_path, monkeypatch, record_property, capsys) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setattr(pace, "_FIRST_WAIT", 0.01)
    monkeypatch.setattr(fate, "_SERVER_FIRST", 0.1)
    monkeypatch.setattr(fate, "_SERVER_LONGEST", 0.5)
    given: Counter[str] = Counter()
    on_report = VerdictEvents.on_report

    def counted(self: VerdictEvents, report: Any, trace: Any) -> None:
        given[report.run_id] += 1
        on_report(self, report, trace)

    monkeypatch.setattr(VerdictEvents, "on_report", counted)
    alone = without_judge(tmp_path / "alone.sqlite")
    phases, depths, took = Phases(), [], {}
    registry = prometheus_client.CollectorRegistry()
    store = SqliteStore(tmp_path / "runs.sqlite")

    def depth() -> float:
        return registry.get_sample_value("mastwatch_judge_queue_depth") or 0.0

    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.05):
            depths.append((phases.now, depth()))
            server.requests.clear()  # the test's own memory
            server.headers.clear()

    with ScriptedModelServer(phases) as server:
        options = {"base_url": server.url, "profile": "fast", "retries": 1, "concurrency": 8}
        options["attribution"] = "off"  # the server knows the judge's questions only
        with mastwatch.instrument(
            judge="m", store=store.path, registry=registry, detectors=(), judge_options=options
        ) as handle:
            watching = threading.Thread(target=watch, daemon=True)
            watching.start()
            took["down"] = host(0, RUNS // 2)
            assert handle.flush(60.0)
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            until(lambda: depth() == RUNS // 2, 30)
            assert store.queue("judge")["done"] == 0
            phases.now = "slow"
            took["slow"] = host(RUNS // 2, RUNS // 4)
            until(lambda: store.queue("judge")["done"] >= 40, 60)
            phases.now = "up"
            took["up"] = host(RUNS // 2 + RUNS // 4, RUNS // 4)
            until(lambda: store.queue("judge")["done"] == RUNS, 240)
            until(lambda: depth() == 0, 10)
            after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            over.set()
            watching.join()

    assert store.queue("judge") == {"waiting": 0, "running": 0, "done": RUNS}
    reports = [store.report(run_id) for run_id in store.runs()]
    assert len(reports) == RUNS
    assert all(r.verdicts["step_repetition"].verdict == "absent" for r in reports)
    assert set(given.values()) == {1}
    assert len(given) == RUNS
    # The depth tells the story: it grows to all there are while nothing can be judged (above), and
    # then it shrinks.
    down = [value for phase, value in depths if phase == "down"]
    up = [value for phase, value in depths if phase == "up"]
    assert down == sorted(down)
    assert up[0] > RUNS // 4 > 10 > up[-1]
    assert (after - before) / 1024 < 40  # MB, over a thousand reports
    assert phases.asked["slow"] + phases.asked["up"] == RUNS  # none was paid for twice
    told = {"without": alone, **took}
    with capsys.disabled():
        for name, times in told.items():
            middle = statistics.median(times) * 1e6
            high = statistics.quantiles(times, n=100)[98] * 1e6
            print(f"\n{name}: median {middle:.0f} us, 99 % {high:.0f} us", end="")
        print(f"\nmemory {before / 1024:.0f} -> {after / 1024:.0f} MB; calls {dict(phases.asked)}")
