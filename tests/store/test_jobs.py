"""Jobs are lent, and the day's spending is everybody's."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time

import pytest

from mastwatch.store import Limits, Report, RunFilter, Spend, Trace
from mastwatch.store.sqlite import SqliteStore


def fill(store: SqliteStore, count: int) -> None:
    for number in range(count):
        store.add(Trace(run_id=f"r{number}"), job="judge", trigger="sample")


def report_of(run_id: str) -> Report:
    return Report(run_id=run_id, verdicts={})


def test_a_job_is_lent_once_oldest_first(store, clock) -> None:
    fill(store, 2)
    first = store.claim("judge", "a", 60)
    assert (first.run_id, first.kind, first.trigger, first.attempt) == ("r0", "judge", "sample", 1)
    assert (first.owner, first.until) == ("a", clock.now + 60)
    assert store.claim("judge", "b", 60).run_id == "r1"
    assert store.claim("judge", "c", 60) is None
    assert store.claim("attribute", "c", 60) is None
    assert store.queue("judge") == {"waiting": 0, "running": 2, "done": 0}


def test_a_lease_that_ran_out_goes_to_the_next_and_the_first_answers_no_more(store, clock) -> None:
    fill(store, 1)
    first = store.claim("judge", "a", 60)
    clock.now += 61
    assert store.queue("judge") == {"waiting": 1, "running": 0, "done": 0}
    second = store.claim("judge", "b", 60)
    assert (second.run_id, second.attempt) == ("r0", 2)
    assert store.finish(first, report_of("r0")) is False
    assert store.renew(first, 60) is None
    store.postpone(first, 0, "late")
    assert store.claim("judge", "c", 60) is None
    assert store.report("r0") is None
    assert store.finish(second, report_of("r0")) is True
    assert store.finish(second, report_of("r0")) is False
    assert store.queue("judge") == {"waiting": 0, "running": 0, "done": 1}


def test_loans_that_ran_out_and_failures_are_counted_apart(store, clock) -> None:
    fill(store, 1)
    job = store.claim("judge", "a", 60)
    assert (job.failed, job.lost) == (0, 0)
    store.postpone(job, 0, "unreachable")
    job = store.claim("judge", "a", 60)
    assert (job.failed, job.lost) == (0, 0)
    store.postpone(job, 0, "timeout", failed=True)
    store.claim("judge", "a", 60)
    clock.now += 61
    job = store.claim("judge", "b", 60)
    assert (job.attempt, job.failed, job.lost) == (4, 1, 1)


@pytest.mark.parametrize("done", [0, 1])
def test_the_depth_of_the_queue_is_read_from_an_index(store, done) -> None:
    store.check()
    plan = sqlite3.connect(store.path).execute(
        f"EXPLAIN QUERY PLAN SELECT COUNT(*) FROM jobs WHERE kind = 'judge' AND done = {done}"
    )
    assert f"INDEX jobs_{'done' if done else 'open'} (kind=?)" in plan.fetchall()[0][3]


def test_one_worker_that_claims_a_job_again_is_two(store, clock) -> None:
    fill(store, 1)
    first = store.claim("judge", "a", 60)
    clock.now += 61
    second = store.claim("judge", "a", 60)
    assert store.finish(first, report_of("r0")) is False
    assert store.finish(second, report_of("r0")) is True


def test_nobody_took_it_meanwhile_so_a_late_answer_counts(store, clock) -> None:
    fill(store, 1)
    job = store.claim("judge", "a", 60)
    clock.now += 3_600
    assert store.finish(job, report_of("r0")) is True


def test_a_renewed_lease_holds_longer(store, clock) -> None:
    fill(store, 1)
    job = store.claim("judge", "a", 60)
    clock.now += 50
    job = store.renew(job, 60)
    assert job.until == clock.now + 60
    clock.now += 50
    assert store.claim("judge", "b", 60) is None


def test_a_postponed_job_is_due_later_and_lets_the_others_go_first(store, clock) -> None:
    fill(store, 2)
    store.postpone(store.claim("judge", "a", 60), 30, "server is down")
    assert store.queue("judge") == {"waiting": 2, "running": 0, "done": 0}
    assert store.claim("judge", "a", 60).run_id == "r1"
    assert store.claim("judge", "a", 60) is None
    clock.now += 30
    assert (job := store.claim("judge", "a", 60)).run_id == "r0"
    assert job.attempt == 2


def test_a_job_is_asked_for_once(store) -> None:
    store.add(Trace(run_id="r"))
    assert store.enqueue("r", "judge", "asked") is True
    assert store.enqueue("r", "judge", "asked") is False
    assert store.enqueue("r", "attribute", "asked") is True
    store.finish(store.claim("judge", "a", 60), report_of("r"))
    assert store.enqueue("r", "judge", "asked") is False
    store.put(report_of("by hand"))
    assert store.enqueue("by hand", "judge", "asked") is False


def test_a_limit_is_kept_for_each_of_its_three(store) -> None:
    day = store.reserve(Spend(calls=1, tokens=100, usd=0.5), Limits(calls=1, tokens=100, usd=0.5))
    assert day == "2025-10-09"
    assert store.reserve(Spend(calls=1), Limits(calls=1)) == ""
    assert store.reserve(Spend(tokens=1), Limits(tokens=100)) == ""
    assert store.reserve(Spend(usd=0.1), Limits(usd=0.5)) == ""
    assert store.reserve(Spend(calls=1, tokens=10, usd=1.0), Limits()) == day
    assert store.spent() == Spend(calls=2, tokens=110, usd=1.5)


def test_what_a_call_did_cost_takes_the_place_of_what_was_set_aside(store) -> None:
    reserved = Spend(calls=1, tokens=1_000, usd=2.0)
    store.settle(reserved, Spend(calls=1, tokens=300, usd=0.5), store.reserve(reserved, Limits()))
    assert store.spent() == Spend(calls=1, tokens=300, usd=0.5)


def test_each_day_counts_for_itself_and_midnight_loses_nothing(store, clock) -> None:
    reserved = Spend(calls=1, tokens=1_000)
    day = store.reserve(reserved, Limits(calls=1))
    clock.now += 86_400
    assert store.spent() == Spend()
    assert store.reserve(reserved, Limits(calls=1)) != day
    store.settle(reserved, Spend(calls=1, tokens=10), day)
    assert store.spent() == reserved
    assert store.reserve(reserved, Limits(calls=1)) == ""


WORKER = """
    import os, sys, time
    from mastwatch.store import Limits, Report, Spend
    from mastwatch.store.sqlite import SqliteStore
    store = SqliteStore(sys.argv[1])
    owner, limits, one = f"w{os.getpid()}", Limits(calls=int(sys.argv[2])), Spend(calls=1)
    print("ready", flush=True)
    while store.queue("judge")["done"] < int(sys.argv[3]):
        job = store.claim("judge", owner, 2.0)
        if job is None:
            time.sleep(0.05)
            continue
        day = store.reserve(one, limits)
        if not day:
            store.postpone(job, 60, "budget")
            break
        store.trace(job.run_id)
        time.sleep(0.001)  # the model
        store.settle(one, one, day)
        store.finish(job, Report(run_id=job.run_id, verdicts={}, model=owner))
"""


def start_workers(path, cap: int, total: int) -> list[subprocess.Popen[str]]:
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(WORKER), str(path), str(cap), str(total)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(8)
    ]
    for worker in workers:
        assert worker.stdout.readline() == "ready\n"
    return workers


def wait_for(workers: list[subprocess.Popen[str]]) -> list[int]:
    codes = [worker.wait(timeout=120) for worker in workers]
    for worker in workers:
        worker.stdout.close()
    return codes


@pytest.mark.slow
def test_eight_processes_judge_a_thousand_runs_once_each_though_three_are_killed(tmp_path) -> None:
    store = SqliteStore(tmp_path / "runs.sqlite")
    fill(store, 1_000)
    cap = 1_040
    workers = start_workers(store.path, cap, 1_000)
    for number, worker in enumerate(workers[:3], 1):
        while store.queue("judge")["done"] < 200 * number:
            time.sleep(0.01)
        os.kill(worker.pid, signal.SIGKILL)
    assert wait_for(workers) == [-signal.SIGKILL] * 3 + [0] * 5
    assert store.queue("judge") == {"waiting": 0, "running": 0, "done": 1_000}
    assert len(list(store.runs(RunFilter(judged=True)))) == 1_000
    # A call is repeated where its worker died with it, and no more often.
    assert 1_000 <= store.spent().calls <= 1_003
    judges = {store.report(f"r{number}").model for number in range(1_000)}
    assert {f"w{worker.pid}" for worker in workers} == judges


@pytest.mark.slow
def test_eight_processes_stop_at_the_days_limit(tmp_path) -> None:
    store = SqliteStore(tmp_path / "runs.sqlite")
    fill(store, 200)
    assert wait_for(start_workers(store.path, 100, 200)) == [0] * 8
    assert store.spent().calls == 100
    assert len(list(store.runs(RunFilter(judged=True)))) == 100
    assert store.queue("judge") == {"waiting": 100, "running": 0, "done": 100}


@pytest.mark.slow
def test_eight_processes_may_make_the_file_at_once(tmp_path) -> None:
    code = """
        import sys, time
        from mastwatch.store import Trace
        from mastwatch.store.sqlite import SqliteStore
        folder, at, name = sys.argv[1], float(sys.argv[2]), sys.argv[3]
        for number in range(20):
            store = SqliteStore(f"{folder}/{number}/runs.sqlite")
            time.sleep(max(0, at + number / 10 - time.time()))
            store.add(Trace(run_id=name))
    """
    at = time.time() + 1
    makers = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code), tmp_path, str(at), str(number)]
        )
        for number in range(8)
    ]
    assert [maker.wait(timeout=60) for maker in makers] == [0] * 8
    for number in range(20):
        assert len(list(SqliteStore(tmp_path / str(number) / "runs.sqlite").runs())) == 8
