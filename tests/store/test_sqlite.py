"""The store: what it keeps, finds and forgets."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import textwrap
import threading
from dataclasses import replace

import pytest

from mastwatch.store import Report, RunFilter, StoreError, Trace
from mastwatch.store.retention import Retention
from mastwatch.store.sqlite import PRUNE_SECONDS, SqliteStore


def mode(path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def everything(store: SqliteStore) -> bytes:
    folder = store.path.parent
    return b"".join(file.read_bytes() for file in sorted(folder.iterdir()))


def test_a_trace_comes_back_whole(store, full) -> None:
    store.add(full)
    assert store.trace("r1") == full
    assert store.trace("other") is None


def test_the_file_its_log_and_its_directory_are_private(tmp_path, full) -> None:
    before = os.umask(0)
    try:
        store = SqliteStore(tmp_path / "a" / "b" / "runs.sqlite")
        store.add(full)
        files = {file.name: mode(file) for file in store.path.parent.iterdir()}
    finally:
        os.umask(before)
    assert files == {"runs.sqlite": 0o600, "runs.sqlite-wal": 0o600, "runs.sqlite-shm": 0o600}
    assert mode(store.path.parent) == 0o700


def test_a_relative_path_stays_where_it_was_meant(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = SqliteStore("runs.sqlite")
    monkeypatch.chdir("/")
    store.check()
    assert (tmp_path / "runs.sqlite").exists()


def test_nothing_is_written_before_the_first_use(tmp_path) -> None:
    SqliteStore(tmp_path / "a" / "runs.sqlite").close()
    assert list(tmp_path.iterdir()) == []


def test_an_accepted_run_and_its_job_survive_kill_9(tmp_path) -> None:
    code = f"""
        import os, signal
        from mastwatch.store import Trace
        from mastwatch.store.sqlite import SqliteStore
        store = SqliteStore({str(tmp_path / "runs.sqlite")!r})
        for number in range(50):
            store.add(Trace(run_id=f"r{{number}}", task="x" * 5_000), job="judge", trigger="sample")
        os.kill(os.getpid(), signal.SIGKILL)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], timeout=60)
    assert done.returncode == -signal.SIGKILL
    store = SqliteStore(tmp_path / "runs.sqlite")
    assert len(list(store.runs())) == 50
    assert store.trace("r49").task == "x" * 5_000
    assert store.queue("judge") == {"waiting": 50, "running": 0, "done": 0}


def test_a_run_added_again_is_replaced_and_keeps_its_report(store, full, report) -> None:
    store.add(full)
    store.put(report)
    store.add(replace(full, task="other"), job="judge", trigger="sample")
    assert store.trace("r1").task == "other"
    assert store.report("r1") == report
    assert store.queue("judge")["waiting"] == 0


@pytest.mark.parametrize(
    ("which", "found"),
    [
        (RunFilter(), ["c", "b", "a"]),
        (RunFilter(limit=2), ["c", "b"]),
        (RunFilter(run_id="b"), ["b"]),
        (RunFilter(framework="autogen"), ["b", "a"]),
        (RunFilter(framework="autogen", release="2"), ["b"]),
        (RunFilter(environment="prod"), ["c"]),
        (RunFilter(conversation_id="x"), ["a"]),
        (RunFilter(user_id="u"), ["a"]),
        (RunFilter(outcome="error"), ["c"]),
        (RunFilter(success=True), ["b"]),
        (RunFilter(success=False), ["a"]),
        (RunFilter(since=2.0), ["c", "b"]),
        (RunFilter(until=2.0), ["a"]),
        (RunFilter(judged=True), ["a"]),
        (RunFilter(judged=False), ["c", "b"]),
    ],
)
def test_runs_are_found_by_what_they_were(store, which, found) -> None:
    store.add(Trace(run_id="a", framework="autogen", release="1", ended=1.0, success=False,
                    conversation_id="x", user_id="u"))  # fmt: skip
    store.add(Trace(run_id="b", framework="autogen", release="2", started=2.0, success=True))
    store.add(Trace(run_id="c", framework="x", environment="prod", outcome="error"))
    store.put(Report(run_id="a", verdicts={}))
    assert list(store.runs(which)) == found
    assert [run.run_id for run in store.listing(which)] == found


def test_the_listing_tells_what_a_run_was(store, full, report) -> None:
    store.add(full)
    store.put(report)
    [run] = store.listing()
    assert (run.framework, run.release, run.environment) == ("autogen", "1.2", "test")
    assert (run.conversation_id, run.user_id, run.outcome, run.success) == (
        "c1", "u1", "limit", False,
    )  # fmt: skip
    assert (run.started, run.ended, run.judged) == (1.0, 2.0, True)
    assert 0 < run.size < 2_000


def test_an_outcome_that_comes_later_is_kept(store, full) -> None:
    store.add(replace(full, success=None, score=None, expected=None, comment=None))
    assert store.update_outcome("r1", success=False, expected="42") is True
    assert store.update_outcome("r1", score=0.5, comment="no") is True
    assert store.trace("r1") == full
    assert list(store.runs(RunFilter(success=False))) == ["r1"]
    assert store.update_outcome("other", success=True) is False


def test_deleted_runs_leave_no_byte_behind(store, full, report) -> None:
    store.add(
        replace(full, user_id="to be forgotten", conversation_id="forget"),
        job="judge",
        trigger="sample",
    )
    store.add(replace(full, run_id="r2"))
    store.finish(store.claim("judge", "w", 60), report)
    store.cache("key", "an answer that quotes it")
    connection = store._db._connection()
    blobs = [
        connection.execute(f"SELECT {name} FROM {table}").fetchone()[0]
        for name, table in (
            ("trace", "runs WHERE run_id = 'r1'"), ("report", "reports"), ("reply", "cache"),
        )
    ]  # fmt: skip
    assert store.delete(RunFilter(conversation_id="forget")) == 1
    left = everything(store)
    assert [blob for blob in blobs if blob in left] == []
    assert b"forg" not in left
    assert (store.trace("r1"), store.report("r1"), store.cached("key")) == (None, None, None)
    assert store.queue("judge") == {"waiting": 0, "running": 0, "done": 0}
    assert list(store.runs()) == ["r2"]


def test_a_run_deleted_while_it_is_judged_gets_no_report(store, full, report) -> None:
    store.add(full, job="judge", trigger="sample")
    job = store.claim("judge", "w", 60)
    store.delete(RunFilter(user_id="u1"))
    assert store.finish(job, report) is False
    assert store.report("r1") is None


def test_deleting_everything_has_to_be_said(store) -> None:
    with pytest.raises(ValueError, match="needs a condition"):
        store.delete(RunFilter(limit=3))


def test_runs_are_forgotten_by_age(tmp_path, clock) -> None:
    store = SqliteStore(tmp_path / "runs.sqlite", Retention(max_days=2), clock=clock)
    store.add(Trace(run_id="old"))
    store.put(Report(run_id="old", verdicts={}))
    store.put(Report(run_id="of no run here", verdicts={}))
    store.cache("key", "answer")
    clock.now += 3 * 86_400
    store.add(Trace(run_id="new", ended=1.0))  # an old log, but stored just now
    assert list(store.runs()) == ["new"]
    assert (store.report("old"), store.report("of no run here")) == (None, None)
    assert store.cached("key") is None


def test_runs_are_forgotten_by_size_and_the_file_shrinks(tmp_path, clock) -> None:
    store = SqliteStore(tmp_path / "runs.sqlite", Retention(max_bytes=2**19), clock=clock)
    for number in range(60):
        store.add(Trace(run_id=f"r{number:02}", task=os.urandom(20_000).hex()))
        clock.now += 1
    sizes = sum(run.size for run in store.listing())
    assert sizes > 2**20
    clock.now += PRUNE_SECONDS
    store.add(Trace(run_id="last"))
    kept = list(store.listing())
    assert sum(run.size for run in kept) <= 2**19
    assert [run.run_id for run in kept[:2]] == ["last", "r59"]
    assert store.path.stat().st_size < 2**20


def test_no_bound_is_no_bound(tmp_path, clock) -> None:
    keep = Retention(max_days=0, max_bytes=0)
    store = SqliteStore(tmp_path / "runs.sqlite", keep, clock=clock)
    store.add(Trace(run_id="r"))
    clock.now += 1e9
    assert store.prune() == 0


def test_answers_are_kept_up_to_a_bound(tmp_path, clock) -> None:
    keep = Retention(cache_bytes=50_000)
    store = SqliteStore(tmp_path / "runs.sqlite", keep, clock=clock)
    for number in range(64):
        store.cache(f"k{number}", os.urandom(2_000).hex())
        clock.now += 1
    assert store.cached("k0") is None
    assert len(store.cached("k63")) == 4_000
    store.cache("k63", "other")
    assert store.cached("k63") == "other"


def test_ids_of_any_text_are_found_again(store) -> None:
    run_id = "r \ud800 '; -- %_"
    store.add(Trace(run_id=run_id, user_id="\udfff"), job="judge", trigger="sample")
    assert store.trace(run_id).run_id == run_id
    job = store.claim("judge", "w", 60)
    assert store.trace(job.run_id).run_id == run_id
    assert store.delete(RunFilter(user_id="\udfff")) == 1


def test_threads_have_connections_of_their_own_that_end_with_them(store) -> None:
    def work(number: int) -> None:
        store.add(Trace(run_id=str(number)))

    for number in range(20):
        thread = threading.Thread(target=work, args=(number,))
        thread.start()
        thread.join()
    assert len(list(store.runs())) == 20
    assert len(store._db._connections) <= 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_opens_the_file_for_itself(store) -> None:
    store.add(Trace(run_id="parent"))
    child = os.fork()
    if child == 0:
        try:
            inherited = len(store._db._connections)
            store.add(Trace(run_id="child"))
            os._exit(inherited)
        except BaseException:
            os._exit(99)
    assert os.waitpid(child, 0)[1] == 0
    store.add(Trace(run_id="after"))
    assert {"parent", "child", "after"} == set(store.runs())


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forks_in_the_middle_of_writing_harm_neither_side(store) -> None:
    stop = threading.Event()
    added = 0

    def write() -> None:
        nonlocal added
        while not stop.is_set():
            store.add(Trace(run_id=f"parent{added}", task="x" * 20_000))
            added += 1

    thread = threading.Thread(target=write)
    thread.start()
    codes = []
    for number in range(30):
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            try:
                store.add(Trace(run_id=f"child{number}"))
            except BaseException:
                os._exit(1)
            os._exit(0)
        codes.append(os.waitpid(child, 0)[1])
    stop.set()
    thread.join()
    assert codes == [0] * 30
    assert len(list(store.runs())) == 30 + added
    with store._db.reading() as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_a_fork_that_cannot_wait_leaves_the_child_without_the_store(store) -> None:
    store.check()
    store._db.after_fork(child=True)  # as if before_fork() had not been able to close it
    with pytest.raises(StoreError, match="forked while it was written to"):
        store.add(Trace(run_id="r"))


def test_a_store_that_must_exist_is_not_made(tmp_path) -> None:
    store = SqliteStore(tmp_path / "x" / "runs.sqlite", create=False)
    with pytest.raises(StoreError, match="there is no such file"):
        store.trace("r")
    assert list(tmp_path.iterdir()) == []


def test_a_path_that_cannot_be_is_a_clear_error(tmp_path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"runs\.sqlite cannot be used: "):
        SqliteStore(tmp_path / "file" / "runs.sqlite").add(Trace(run_id="r"))


def test_a_run_of_a_newer_release_is_a_clear_error(store, full) -> None:
    store.add(full)
    from mastwatch.store.rows import pack

    with store._db.writing() as connection:
        connection.execute("UPDATE runs SET trace = ?", (pack('{"schema": 7}'),))
    with pytest.raises(StoreError, match="run 'r1' cannot be read: schema 7 is newer"):
        store.trace("r1")
