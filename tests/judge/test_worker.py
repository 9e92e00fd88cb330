"""Jobs in, one report each out, whatever the model, the store and the process do meanwhile."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from judge.stub import SETTINGS, StubModel, absent, judging, looping, trace
from mastwatch.judge import pace
from mastwatch.judge.client import Ask, ModelError
from mastwatch.judge.judge import Judge
from mastwatch.judge.worker import Listener, Worker, WorkerThread
from mastwatch.judge.worker.fate import MAX_ATTEMPTS, MAX_LOST
from mastwatch.store import Limits, Report, StoreError, Trace
from mastwatch.store.sqlite import SqliteStore


class Clock:
    """A store's and worker's clock that tests move on."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


class Heard(Listener):
    """A listener that remembers."""

    name = "heard"

    def __init__(self) -> None:
        self.reports: list[Report] = []
        self.depths: list[int] = []

    def on_report(self, report: Report, trace: Trace) -> None:
        self.reports.append(report)

    def on_queue(self, depth: int) -> None:
        self.depths.append(depth)


@pytest.fixture(autouse=True)
def _no_long_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "_FIRST_WAIT", 0.001)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path, clock) -> SqliteStore:
    return SqliteStore(tmp_path / "runs.sqlite", clock=clock)


def fill(store: SqliteStore, count: int, first: int = 0, **fields: Any) -> None:
    for number in range(first, first + count):
        store.add(trace(number, **fields), job="judge", trigger="outcome")


async def once(store, model, clock=time.time, settings=SETTINGS, **options) -> Worker:
    worker = Worker(store, judging(model, settings, store), clock=clock, poll=0.05, **options)
    await worker.run(once=True)
    return worker


async def test_every_run_gets_one_report_and_runs_are_judged_side_by_side(store, clock) -> None:
    fill(store, 12)
    model, heard = StubModel(looping, seconds=0.01), Heard()
    worker = await once(store, model, clock, listeners=[heard], at_once=3)
    assert worker.finished.total() == 12
    assert store.queue("judge") == {"waiting": 0, "running": 0, "done": 12}
    assert {f"run-{n}" for n in range(12)} == {report.run_id for report in heard.reports}
    assert store.report("run-3").verdicts["step_repetition"].verdict == "present"
    assert store.report("run-3").trigger == "outcome"
    assert model.asked == 12
    assert 1 < model.most <= 3
    assert heard.depths[0] == 12


@pytest.mark.parametrize("kind", ["unreachable", "rate_limited", "auth"])
async def test_what_no_run_can_help_costs_no_run_its_report(store, clock, caplog, kind) -> None:
    """However often it is tried: all wait, one goes ahead, and then all are judged."""
    fill(store, 5)
    model = StubModel(lambda ask: ModelError(kind, "no"))
    caplog.set_level(logging.INFO, "mastwatch")
    for _ in range(MAX_ATTEMPTS + 4):
        worker = await once(store, model, clock, at_once=2)
        assert worker.finished.total() == 0
        assert worker.postponed <= 2
        assert store.queue("judge")["waiting"] == 5
        clock.now += 3_600
    model.answer = absent
    assert (await once(store, model, clock)).finished.total() == 5
    assert all(
        store.report(f"run-{n}").verdicts["step_repetition"].verdict == "absent" for n in range(5)
    )


async def test_trouble_is_said_once_and_its_end_too(store, clock, caplog) -> None:
    caplog.set_level(logging.INFO, "mastwatch")
    fill(store, 6)
    model = StubModel(lambda ask: ModelError("auth", "the key is refused"))
    worker = Worker(store, judging(model, SETTINGS, store), clock=clock, poll=0.01, at_once=2)
    running = asyncio.create_task(worker.run())
    for _ in range(3):
        await until(lambda: store.queue("judge")["running"] == 0 and worker.postponed)
        clock.now += 3_600
        worker.wake()
        await asyncio.sleep(0.03)
    model.answer = absent
    clock.now += 3_600
    await until(lambda: worker.finished.total() == 6)
    worker.stop()
    await running
    said = [record.getMessage() for record in caplog.records]
    assert sum("key is refused" in line for line in said) == 1
    assert sum("works again" in line for line in said) == 1


@pytest.mark.parametrize("kind", ["timeout", "provider_error"])
async def test_what_may_be_the_runs_own_fault_ends_in_a_stated_reason(store, clock, kind) -> None:
    fill(store, 1)
    model = StubModel(lambda ask: ModelError(kind, "no"))
    for _ in range(MAX_ATTEMPTS):
        assert store.report("run-0") is None
        await once(store, model, clock)
        clock.now += 3_700
    report = store.report("run-0")
    assert {(v.verdict, v.reason) for v in report.verdicts.values()} == {("not_evaluated", kind)}


async def test_the_day_s_limit_makes_runs_wait_for_the_next_day(store, clock, caplog) -> None:
    fill(store, 5)
    settings = replace(SETTINGS, per_day=Limits(calls=2))
    model = StubModel()
    clock.now = 1_700_000_000.0 // 86_400 * 86_400 + 80_000
    worker = await once(store, model, clock, settings, at_once=1)
    assert worker.finished.total() == 2
    assert "limit for today" in caplog.text
    clock.now += 60
    assert (await once(store, model, clock, settings, at_once=1)).finished.total() == 0
    clock.now += 86_400
    assert (await once(store, model, clock, settings, at_once=1)).finished.total() == 2
    clock.now += 86_400
    assert (await once(store, model, clock, settings, at_once=1)).finished.total() == 1
    assert model.asked == 5


async def test_a_run_that_no_day_can_pay_for_ends_at_once(store, clock) -> None:
    fill(store, 1)
    await once(store, StubModel(), clock, replace(SETTINGS, per_day=Limits(tokens=100)))
    assert {v.reason for v in store.report("run-0").verdicts.values()} == {"budget"}


async def test_the_limit_of_one_run_is_final(store, clock) -> None:
    fill(store, 1)
    limits = replace(SETTINGS.per_trace, calls=0)
    await once(store, StubModel(), clock, replace(SETTINGS, per_trace=limits))
    assert {v.reason for v in store.report("run-0").verdicts.values()} == {"budget"}


async def test_a_job_is_kept_while_its_run_takes_long(store) -> None:
    store = SqliteStore(store.path)
    fill(store, 1)
    worker = asyncio.create_task(once(store, StubModel(seconds=0.6), lease=0.3))
    await asyncio.sleep(0.45)
    assert store.claim("judge", "somebody", 1.0) is None
    assert (await worker).finished.total() == 1


async def test_a_job_that_went_to_somebody_else_is_left_to_them(store, clock) -> None:
    fill(store, 1)
    heard = Heard()
    running = asyncio.create_task(
        once(store, StubModel(seconds=0.5), clock, lease=0.3, listeners=[heard])
    )
    await until(lambda: store.queue("judge")["running"])
    # The loan is over, in the eyes of somebody else: here stands a machine that slept.
    job = SqliteStore(store.path, clock=lambda: clock.now + 10).claim("judge", "somebody", 60.0)
    assert job is not None
    assert (await running).finished.total() == 0
    assert heard.reports == []
    assert store.report("run-0") is None


async def test_a_run_that_its_workers_die_over_comes_to_an_end(store, clock) -> None:
    fill(store, 1)
    for _ in range(MAX_LOST + 1):
        job = store.claim("judge", "dead", 60.0)
        clock.now += 61
    assert job.lost == MAX_LOST
    model = StubModel()
    await once(store, model, clock)
    assert model.asked == 0
    verdicts = store.report("run-0").verdicts.values()
    assert {(v.verdict, v.reason) for v in verdicts} == {("not_evaluated", "worker_died")}


async def test_a_run_that_a_worker_died_over_is_judged_alone(store, clock) -> None:
    fill(store, 1)
    store.claim("judge", "dead", 60.0)
    clock.now += 61
    fill(store, 4, first=1)
    most = []

    def answer(ask: Ask) -> str:
        most.append((store.queue("judge")["running"], store.queue("judge")["done"]))
        return absent(ask)

    await once(store, StubModel(answer, seconds=0.02), clock, at_once=4)
    assert most[0] == (1, 0)
    assert max(running for running, _ in most) == 4


async def test_outages_do_not_count_as_failures_of_the_run(store, clock) -> None:
    fill(store, 1)
    for _ in range(MAX_ATTEMPTS + 1):
        await once(store, StubModel(lambda _: ModelError("unreachable", "down")), clock)
        clock.now += 10_000
    await once(store, StubModel(lambda _: ModelError("timeout", "slow")), clock)
    assert store.report("run-0") is None
    clock.now += 10_000
    await once(store, StubModel(), clock)
    assert store.report("run-0").verdicts["step_repetition"].verdict == "absent"


async def test_a_worker_that_died_leaves_its_job_to_the_next(store, clock) -> None:
    fill(store, 1)
    assert store.claim("judge", "dead", 120.0) is not None
    assert (await once(store, StubModel(), clock)).finished.total() == 0
    clock.now += 121
    assert (await once(store, StubModel(), clock)).finished.total() == 1


async def test_a_stopped_worker_hands_back_what_it_could_not_finish(store) -> None:
    store = SqliteStore(store.path)
    fill(store, 3)
    worker = Worker(store, judging(StubModel(seconds=30)), poll=0.05, at_once=2)
    running = asyncio.create_task(worker.run())
    await until(lambda: store.queue("judge")["running"] == 2)
    worker.stop(grace=0.05)
    await running
    assert store.queue("judge") == {"waiting": 3, "running": 0, "done": 0}
    assert (await once(store, StubModel())).finished.total() == 3


async def test_an_error_of_ours_is_tried_again_and_then_stated(store, clock, monkeypatch) -> None:
    monkeypatch.delenv("MASTWATCH_RAISE_ERRORS")
    fill(store, 1)
    monkeypatch.setattr(Judge, "judge", broken)
    for _ in range(MAX_ATTEMPTS):
        await once(store, StubModel(), clock)
        clock.now += 3_700
    assert {v.reason for v in store.report("run-0").verdicts.values()} == {"internal_error"}


async def test_a_run_that_was_deleted_gets_a_report_that_says_so(store, clock) -> None:
    assert store.enqueue("run-gone", "judge", "outcome")
    await once(store, StubModel(), clock)
    assert {v.reason for v in store.report("run-gone").verdicts.values()} == {"no_rows"}


async def test_a_store_that_fails_is_said_once_and_waited_for(
    store, clock, caplog, monkeypatch
) -> None:
    monkeypatch.setattr("mastwatch.judge.worker.worker._STORE_RETRY", 0.01)
    fill(store, 1)
    failing = True

    def queue(kind: str, real: Callable[..., Any] = store.queue) -> Any:
        if failing:
            raise StoreError("the store cannot be used: disk full")
        return real(kind)

    monkeypatch.setattr(store, "queue", queue)
    worker = Worker(store, judging(StubModel()), clock=clock, poll=0.01)
    running = asyncio.create_task(worker.run())
    await asyncio.sleep(0.1)
    failing = False
    await until(lambda: worker.finished.total() == 1)
    worker.stop()
    await running
    assert caplog.text.count("disk full") == 1


async def test_a_listener_that_fails_costs_nobody_anything(store, clock, monkeypatch) -> None:
    monkeypatch.delenv("MASTWATCH_RAISE_ERRORS")

    class Broken(Heard):
        def on_report(self, report: Report, trace: Trace) -> None:
            raise RuntimeError("broken")

    fill(store, 2)
    heard = Heard()
    assert (
        await once(store, StubModel(), clock, listeners=[Broken(), heard])
    ).finished.total() == 2
    assert len(heard.reports) == 2


# In a thread of the host.


def make_thread(store: SqliteStore, model: StubModel, heard: Heard | None = None) -> WorkerThread:
    listeners = [heard] if heard is not None else []
    return WorkerThread(lambda: Worker(store, judging(model), listeners, poll=0.05))


def threads() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name == "mastwatch-judge"]


def test_the_thread_starts_with_the_first_run_and_ends_in_time(tmp_path) -> None:
    store = SqliteStore(tmp_path / "runs.sqlite")
    model = StubModel()
    thread = make_thread(store, model)
    assert threads() == []
    fill(store, 2)
    thread.wake()
    until_now(lambda: store.queue("judge")["done"] == 2)
    store.add(trace(9), job="judge", trigger="outcome")
    thread.wake()
    until_now(lambda: store.queue("judge")["done"] == 3)
    assert thread.close(2.0)
    assert threads() == []
    thread.wake()  # too late
    assert threads() == []


def test_exit_waits_no_longer_than_it_may_and_the_run_stays(tmp_path) -> None:
    store = SqliteStore(tmp_path / "runs.sqlite")
    fill(store, 1)
    thread = make_thread(store, StubModel(seconds=60))
    thread.wake()
    until_now(lambda: store.queue("judge")["running"] == 1)
    started = time.monotonic()
    assert thread.close(0.5)
    assert time.monotonic() - started < 0.6
    assert store.queue("judge") == {"waiting": 1, "running": 0, "done": 0}


def test_nothing_in_the_thread_is_traced(tmp_path) -> None:
    from opentelemetry import context

    store = SqliteStore(tmp_path / "runs.sqlite")
    fill(store, 1)
    seen = []

    def answer(ask: Any) -> str:
        seen.append(context.get_value("suppress_instrumentation"))
        return absent(ask)

    thread = make_thread(store, StubModel(answer))
    thread.wake()
    until_now(lambda: store.queue("judge")["done"] == 1)
    thread.close(1.0)
    assert seen == [True]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_a_thread_of_its_own(tmp_path) -> None:
    store = SqliteStore(tmp_path / "runs.sqlite")
    thread = make_thread(store, StubModel())
    fill(store, 1)
    thread.wake()
    until_now(lambda: store.queue("judge")["done"] == 1)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            store.add(trace(2), job="judge", trigger="outcome")
            thread.wake()
            until_now(lambda: store.queue("judge")["done"] == 2)
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    thread.close(1.0)


async def broken(*_: Any) -> Report:
    raise RuntimeError("a mistake of ours")


async def until(true: Callable[[], Any], seconds: float = 5.0) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.005)


def until_now(true: Callable[[], Any], seconds: float = 5.0) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.005)
