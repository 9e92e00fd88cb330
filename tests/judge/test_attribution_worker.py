"""Failed runs are judged and then attributed: one worker, one queue, one budget."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from judge.stub import SETTINGS, StubModel, looping, trace, verdicts
from judge.test_worker import Clock
from mastwatch.attribution import AttributionSettings
from mastwatch.attribution.duty import make_duties
from mastwatch.judge import pace
from mastwatch.judge.client import Ask, ModelError
from mastwatch.judge.settings import TraceLimits
from mastwatch.judge.worker import Listener, Worker
from mastwatch.judge.worker.fate import MAX_ATTEMPTS
from mastwatch.store import Attribution, Limits, Report
from mastwatch.store.sqlite import SqliteStore

ONCE = replace(SETTINGS, attribution=AttributionSettings(method="all_at_once"))
"""One call to judge, one to attribute."""
BLAMED = {"step": 3, "agent": "", "reason": "It searches again.", "confidence": 0.9}


class Heard(Listener):
    name = "heard"

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []
        self.put_off: list[Report | Attribution] = []

    def on_report(self, report: Report, trace: Any) -> None:
        self.told.append(("report", report.run_id))

    def on_attribution(self, attribution: Attribution, trace: Any) -> None:
        self.told.append(("attribution", attribution.run_id))

    def on_put_off(self, result: Report | Attribution) -> None:
        self.put_off.append(result)


class Both(StubModel):
    """Judges, and blames a step.

    Args:
        blames: What it says to attribution's questions.
        judges: What it says to the judge's.
    """

    def __init__(self, blames: Any = BLAMED, judges: Any = looping) -> None:
        super().__init__(self._either)
        self.kinds: list[str] = []
        self._blames = blames
        self._judges = judges

    def _either(self, ask: Ask) -> str | ModelError:
        attribution = ask.schema_name != "verdicts"
        self.kinds.append("attribution" if attribution else "judge")
        if not attribution:
            return self._judges(ask)
        said = self._blames(ask) if callable(self._blames) else self._blames
        return said if isinstance(said, ModelError) else json.dumps(said)


@pytest.fixture(autouse=True)
def _no_long_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "_FIRST_WAIT", 0.001)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path, clock) -> SqliteStore:
    return SqliteStore(tmp_path / "runs.sqlite", clock=clock)


def once(store, model, clock, settings=ONCE, **options) -> Worker:
    make = partial(make_duties, model, settings, store)
    worker = Worker(store, make, clock=clock, poll=0.02, **options)
    asyncio.run(worker.run(once=True))
    return worker


def fill(store: SqliteStore, count: int = 1, **fields: Any) -> None:
    for number in range(count):
        store.add(trace(number, **fields), job="judge", trigger="outcome")


def test_a_failed_run_is_judged_and_then_attributed(store, clock) -> None:
    fill(store, 3)
    model, heard = Both(), Heard()
    worker = once(store, model, clock, listeners=[heard])
    assert dict(worker.finished) == {"judge": 3, "attribute": 3}
    for number in range(3):
        found = store.attribution(f"run-{number}")
        assert (found.result, found.step, found.agent) == ("attributed", 3, "Clerk")
        assert found.trigger == "outcome"
        assert found.modes == ("step_repetition",)  # what the judge found in that row
        told = heard.told
        run = f"run-{number}"
        assert told.index(("report", run)) < told.index(("attribution", run))
    assert store.queue("attribute") == {"waiting": 0, "running": 0, "done": 3}


@pytest.mark.parametrize(
    ("fields", "says", "wanted"),
    [
        ({"success": False, "outcome": "completed"}, "yes", True),
        ({"success": True, "outcome": "error"}, "no", False),
        ({"outcome": "limit"}, "yes", True),
        ({"outcome": "completed"}, "no", True),
        ({"outcome": "completed"}, "yes", False),
        ({"outcome": "completed"}, "unclear", False),
    ],
)
def test_only_failed_runs_are_attributed(store, clock, fields, says, wanted) -> None:
    """The host's word counts most, then how the run ended, then the judge's."""

    def judges(ask: Ask) -> str:
        return json.dumps({**json.loads(verdicts(ask)), "task_completed": says})

    fill(store, **fields)
    model = Both(judges=judges)
    once(store, model, clock)
    assert model.kinds == ["judge", *(["attribution"] if wanted else [])]
    assert (store.attribution("run-0") is not None) == wanted


def test_nothing_is_attributed_twice(store, clock) -> None:
    fill(store)
    model = Both()
    once(store, model, clock)
    assert not store.enqueue("run-0", "attribute", "asked")
    assert not store.enqueue("run-0", "judge", "asked")
    store.add(trace(0), job="judge", trigger="outcome")
    once(store, model, clock)
    assert model.kinds == ["judge", "attribution"]


def test_the_day_s_limit_is_one_for_both(store, clock) -> None:
    """Judging uses it up: the attribution waits for the next day, and is not lost."""
    fill(store)
    clock.now = clock.now // 86_400 * 86_400 + 80_000
    model, heard = Both(), Heard()
    settings = replace(ONCE, per_day=Limits(calls=1))
    worker = once(store, model, clock, settings, listeners=[heard])
    assert dict(worker.finished) == {"judge": 1}
    assert [result.reason for result in heard.put_off] == ["budget"]
    assert store.attribution("run-0") is None
    assert store.queue("attribute")["waiting"] == 1
    clock.now += 60
    assert once(store, model, clock, settings).finished.total() == 0
    clock.now += 86_400
    assert dict(once(store, model, clock, settings).finished) == {"attribute": 1}
    assert store.attribution("run-0").step == 3
    assert model.kinds == ["judge", "attribution"]


def test_the_limit_of_one_run_is_final(store, clock) -> None:
    fill(store)
    model = Both({"error": "no", "reason": "", "evidence": None})
    settings = replace(
        ONCE,
        per_trace=TraceLimits(calls=2),
        attribution=AttributionSettings(method="step_by_step"),
    )
    once(store, model, clock, settings)
    found = store.attribution("run-0")
    assert (found.result, found.reason, found.step) == ("not_evaluated", "budget", None)
    assert found.usage.calls == 2
    assert store.queue("attribute")["done"] == 1


@pytest.mark.parametrize("kind", ["unreachable", "rate_limited", "auth"])
def test_what_no_run_can_help_has_the_attribution_wait(store, clock, kind) -> None:
    fill(store, 2)
    model = Both(ModelError(kind, "no"))
    for _ in range(MAX_ATTEMPTS + 2):
        once(store, model, clock, at_once=1)
        assert store.queue("judge")["done"] >= 1
        assert store.queue("attribute")["done"] == 0
        clock.now += 3_600
    model._blames = BLAMED
    once(store, model, clock)
    assert {store.attribution(f"run-{n}").step for n in range(2)} == {3}
    assert model.kinds.count("judge") == 2


@pytest.mark.parametrize("kind", ["timeout", "provider_error"])
def test_what_may_be_the_runs_own_fault_ends_in_a_stated_reason(store, clock, kind) -> None:
    fill(store)
    model, heard = Both(ModelError(kind, "no")), Heard()
    for _ in range(MAX_ATTEMPTS):
        assert store.attribution("run-0") is None
        once(store, model, clock, listeners=[heard])
        clock.now += 3_700
    found = store.attribution("run-0")
    assert (found.result, found.reason) == ("not_evaluated", kind)
    assert len(heard.put_off) == MAX_ATTEMPTS - 1


def test_switched_off_nothing_is_attributed(store, clock) -> None:
    fill(store)
    model = Both()
    once(store, model, clock, replace(ONCE, attribution=AttributionSettings(enabled=False)))
    assert model.kinds == ["judge"]
    assert store.queue("attribute")["done"] == 0


def test_an_outcome_that_comes_while_the_run_is_judged_is_not_lost(store, clock) -> None:
    """It finds the judge's job still there and asks for none."""
    fill(store, outcome="completed")

    def judges(ask: Ask) -> str:
        reports = threading.Thread(target=lambda: store.update_outcome("run-0", success=False))
        reports.start()
        reports.join()
        return json.dumps({**json.loads(verdicts(ask)), "task_completed": "yes"})

    model = Both(judges=judges)
    once(store, model, clock)
    assert model.kinds == ["judge", "attribution"]
    assert store.attribution("run-0").step == 3


def test_a_run_that_was_deleted_meanwhile_is_told_so(store, clock) -> None:
    fill(store)
    job = store.claim("judge", "me", 60.0)
    store.finish(job, Report(run_id="run-0", verdicts={}), then="attribute")
    assert store.attribution("run-0") is None
    # The run goes, its job stays: as when another process deletes it just now.
    with store._db.writing() as connection:
        connection.execute("DELETE FROM runs")
    model = Both()
    once(store, model, clock)
    assert model.asked == 0
    assert store.attribution("run-0").reason == "no_rows"


KILLED = """
    import asyncio, os, signal, sys
    from judge.test_attribution_worker import Both, ONCE
    from mastwatch.attribution.duty import make_duties
    from mastwatch.judge.worker import Worker
    from mastwatch.store.sqlite import SqliteStore

    def die(ask):
        os.kill(os.getpid(), signal.SIGKILL)

    store = SqliteStore(sys.argv[1])
    worker = Worker(store, lambda: make_duties(Both(die), ONCE, store), poll=0.02, lease=0.5)
    asyncio.run(worker.run(once=True))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_worker_that_is_killed_in_between_loses_nothing(tmp_path) -> None:
    store = SqliteStore(tmp_path / "runs.sqlite")
    fill(store)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(KILLED), str(store.path)],
        cwd=Path(__file__).parents[1],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        timeout=60,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    assert store.report("run-0") is not None
    assert store.attribution("run-0") is None

    def clock() -> float:
        return time.time() + 10

    later, model = SqliteStore(store.path, clock=clock), Both()
    worker = once(later, model, clock)
    assert dict(worker.finished) == {"attribute": 1}
    assert model.kinds == ["attribution"]
    assert later.attribution("run-0").step == 3
