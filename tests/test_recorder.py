"""Finished runs reach the store, redacted, and never at the host's cost."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter

import prometheus_client
import pytest
from opentelemetry import trace as otel
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import mastwatch
from mastwatch.detector import Detector
from mastwatch.events import MessageSent, RunFinished, RunStarted, ToolRequest
from mastwatch.findings import Finding, Severity
from mastwatch.sinks.recorder import Recorder, Wanted
from mastwatch.sinks.writer import Writer
from mastwatch.store import StoreError, Trace
from mastwatch.store.sqlite import SqliteStore
from mastwatch.watch import Watch

SECRET = "sk-abcdefghijklmnop1234"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state" / "runs.sqlite"


@pytest.fixture
def instrumented(path):
    with mastwatch.instrument(
        registry=prometheus_client.CollectorRegistry(),
        store=path,
        release="1.2",
        environment="test",
        redact=lambda text: text.replace("Bob", "[name]"),
    ) as handle:
        yield handle


class Memory:
    """A store in memory; its doings can be held up or made to fail."""

    def __init__(self) -> None:
        self.added: list[tuple[Trace, str | None, str]] = []
        self.error: Exception | None = None
        self.open = threading.Event()
        self.open.set()

    def add(self, trace, *, job=None, trigger="") -> None:
        self.open.wait(30)
        if self.error is not None:
            raise self.error
        self.added.append((trace, job, trigger))

    def close(self) -> None:
        pass


def record(store, detectors=(), **more) -> tuple[Watch, Recorder]:
    watch = Watch(detectors)
    recorder = Recorder(store, lambda text: text, watch.drop, lambda: ("", ""), **more)
    watch.add_sink(recorder)
    return watch, recorder


def play(watch: Watch, run_id: str, *texts: str, outcome: str | None = "completed") -> None:
    watch.publish(RunStarted(run_id=run_id, framework="custom"))
    for index, text in enumerate(texts):
        watch.publish(MessageSent(run_id=run_id, index=index, sender="A", text=text))
    if outcome is not None:
        watch.publish(RunFinished(run_id=run_id, outcome=outcome, index=len(texts) - 1))


def test_a_finished_run_is_kept_with_its_spans(instrumented, path, monkeypatch) -> None:
    spans, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    monkeypatch.setattr(otel, "_TRACER_PROVIDER", provider)
    with mastwatch.run("support", task="find it", conversation_id="c", tags={"k": "v"}) as run:
        mastwatch.message("Planner", "Let us look.", to="Clerk")
        mastwatch.tool("search", {"q": 1}, agent="Clerk", result="nothing")
    assert mastwatch.flush() is True
    trace = SqliteStore(path).trace(run.id)
    assert (trace.name, trace.framework, trace.task) == ("support", "custom", "find it")
    assert (trace.conversation_id, trace.tags, trace.outcome) == ("c", {"k": "v"}, "completed")
    assert (trace.release, trace.environment) == ("1.2", "test")
    assert [(row.index, row.agent, row.text) for row in trace.rows] == [
        (0, "Planner", "Let us look."),
        (1, "Clerk", "nothing"),
    ]
    assert trace.rows[1].tool_calls[0].arguments == {"q": 1}
    by_name = {s.name.split()[0]: s.context for s in spans.get_finished_spans()}
    root = by_name["invoke_workflow"]
    assert trace.trace_id == otel.format_trace_id(root.trace_id)
    assert trace.span_id == otel.format_span_id(root.span_id)
    assert [row.span_id for row in trace.rows] == [
        otel.format_span_id(by_name["agent_message"].span_id),
        otel.format_span_id(by_name["execute_tool"].span_id),
    ]


def test_no_secret_is_written(instrumented, path) -> None:
    secret = f"{SECRET} Bob"

    class Odd:
        def __str__(self) -> str:
            return secret

    with mastwatch.run("r", task=secret, tags={"k": secret}) as run:
        mastwatch.message("A", secret, to="B")
        mastwatch.tool("t", {"a": [secret, {secret: Odd()}]}, agent="A", result=secret)
        mastwatch.outcome(comment=secret)
    mastwatch.outcome(run_id=run.id, expected=secret)
    mastwatch.flush()
    from mastwatch.store import codec

    text = codec.trace_to_json(SqliteStore(path).trace(run.id))
    assert SECRET not in text
    assert "Bob" not in text
    assert text.count("[redacted] [name]") == 9


def test_a_redaction_that_fails_leaves_the_text_out(path, monkeypatch) -> None:
    monkeypatch.delenv("MASTWATCH_RAISE_ERRORS")

    def redact(text: str) -> str:
        raise RuntimeError(text)

    registry = prometheus_client.CollectorRegistry()
    with mastwatch.instrument(registry=registry, store=path, redact=redact):
        with mastwatch.run("r") as run:
            mastwatch.message("A", "private")
        mastwatch.flush()
    assert SqliteStore(path).trace(run.id).rows[0].text == "[redaction failed]"


def test_the_hosts_outcome_is_kept_during_the_run_and_after_it(instrumented, path) -> None:
    with mastwatch.run("r") as run:
        mastwatch.outcome(success=True, score=0.25)
    mastwatch.outcome(run_id=run.id, success=False, expected="42", comment="no")
    mastwatch.flush()
    trace = SqliteStore(path).trace(run.id)
    assert (trace.success, trace.score, trace.expected, trace.comment) == (False, 0.25, "42", "no")
    mastwatch.outcome(run_id="of another store", success=True)
    mastwatch.flush()
    assert instrumented.watch.dropped == Counter(outcome_without_run=1)


def test_a_run_that_waits_is_kept_once_it_has_ended(instrumented, path) -> None:
    emitter = instrumented.emitter
    run = emitter.start_run("graph", framework="langgraph", conversation_id="c")
    run.message("A", "May I?")
    run.finish("paused")
    mastwatch.flush()
    assert list(SqliteStore(path).runs()) == []
    run = emitter.start_run("graph", framework="langgraph", conversation_id="c", resume=True)
    run.message("A", "Done.")
    run.finish("completed")
    mastwatch.flush()
    trace = SqliteStore(path).trace(run.id)
    assert [row.text for row in trace.rows] == ["May I?", "Done."]
    assert trace.outcome == "completed"


def test_what_a_detector_says_at_the_very_end_is_kept() -> None:
    class AtEnd(Detector):
        name, mode = "at_end", "FM-3.1"

        def observe(self, event, signals):
            if not isinstance(event, RunFinished):
                return None
            return Finding(
                mode="FM-3.1", severity=Severity.WARN, detector="at_end", run_id=event.run_id,
                agent="", message_index=0, evidence=(), explanation="x", fingerprint="f",
            )  # fmt: skip

    store = Memory()
    watch, recorder = record(store, [AtEnd])
    play(watch, "r", "hello")
    recorder.flush(5)
    assert [finding.mode for finding in store.added[0][0].findings] == ["FM-3.1"]


def test_whether_it_is_judged_is_decided_from_outside(path) -> None:
    store = SqliteStore(path)
    watch, recorder = record(store)
    recorder.wants = lambda trace: (
        Wanted("judge", "outcome") if trace.success is False else Wanted()
    )
    play(watch, "fails", "x", outcome=None)
    recorder.outcome("fails", success=False)
    watch.publish(RunFinished(run_id="fails"))
    play(watch, "fails later", "x")
    play(watch, "does not fail", "x")
    recorder.flush(5)
    assert store.queue("judge")["waiting"] == 1
    recorder.outcome("fails later", success=False)
    recorder.outcome("fails", comment="again")
    recorder.flush(5)
    jobs = [store.claim("judge", "w", 60) for _ in range(3)]
    assert [(job.run_id, job.trigger) for job in jobs if job] == [
        ("fails", "outcome"),
        ("fails later", "outcome"),
    ]


def test_a_broken_choice_costs_the_job_and_not_the_run(monkeypatch) -> None:
    monkeypatch.delenv("MASTWATCH_RAISE_ERRORS")
    store = Memory()
    watch, recorder = record(store)
    recorder.wants = lambda trace: 1 / 0
    play(watch, "r", "x")
    recorder.flush(5)
    assert [(trace.run_id, job) for trace, job, _ in store.added] == [("r", None)]


def test_running_runs_are_bounded_and_the_one_idle_for_longest_is_given_up() -> None:
    store = Memory()
    watch, recorder = record(store, max_bytes=100_000)
    play(watch, "idle", "x" * 40_000, outcome=None)
    play(watch, "busy", "x" * 40_000, outcome=None)
    play(watch, "new", "x" * 40_000, outcome=None)
    for run_id in ("idle", "busy", "new"):
        watch.publish(RunFinished(run_id=run_id, index=0))
    recorder.flush(5)
    assert [trace.run_id for trace, *_ in store.added] == ["busy", "new"]
    assert watch.dropped == Counter(recorder_full=1, recorder_late=1)  # the end of the idle one
    assert recorder._bytes == 0


def test_what_waits_to_be_written_is_bounded_and_the_host_never_waits() -> None:
    store = Memory()
    store.open.clear()
    watch, recorder = record(store)
    began = time.perf_counter()
    for number in range(1_500):
        play(watch, f"r{number}", "x")
    assert time.perf_counter() - began < 5
    assert recorder.flush(0.05) is False
    store.open.set()
    assert recorder.flush(10) is True
    lost = watch.dropped["store_queue_full"]
    assert len(store.added) + lost == 1_500
    assert 400 < lost < 500


def test_a_latecomer_does_not_begin_a_run_anew() -> None:
    store = Memory()
    watch, recorder = record(store)
    play(watch, "r", "x")
    recorder.on_event(MessageSent(run_id="r", index=1, sender="A", text="late"), "custom")
    assert recorder._running == {}
    assert watch.dropped == Counter(recorder_late=1)


def test_a_broken_store_is_said_once_and_counted(caplog) -> None:
    store = Memory()
    store.error = StoreError("the store x cannot be used: disk is full")
    watch, recorder = record(store)
    for number in range(3):
        play(watch, f"r{number}", "x")
    recorder.flush(5)
    assert watch.dropped == Counter(store_failed=3)
    assert caplog.text.count("disk is full") == 1
    store.error = None
    play(watch, "good", "x")
    recorder.flush(5)
    assert [trace.run_id for trace, *_ in store.added] == ["good"]


def test_a_store_that_cannot_be_opened_does_not_reach_the_host(tmp_path, caplog) -> None:
    (tmp_path / "file").touch()
    registry = prometheus_client.CollectorRegistry()
    with mastwatch.instrument(registry=registry, store=tmp_path / "file" / "x") as handle:
        with mastwatch.run("r"):
            mastwatch.message("A", "hello")
        mastwatch.flush()
        assert handle.watch.dropped == Counter(store_failed=1)
    assert "cannot be used" in caplog.text


def test_a_store_that_somebody_locks_costs_the_run_and_no_more(path, monkeypatch) -> None:
    monkeypatch.setattr("mastwatch.store.database.BUSY_SECONDS", 0.05)
    store = SqliteStore(path)
    store.check()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    watch, recorder = record(SqliteStore(path))
    play(watch, "r", "x")
    recorder.flush(5)
    assert watch.dropped == Counter(store_failed=1)
    other.execute("ROLLBACK")
    play(watch, "later", "x")
    recorder.flush(5)
    assert list(store.runs()) == ["later"]


def test_a_full_disk_costs_the_run_and_no_more(path) -> None:
    store = SqliteStore(path)
    watch, recorder = record(store)
    recorder._writer.put(  # in the writing thread, whose connection it is
        lambda: store._db._connection().execute("PRAGMA max_page_count = 30").fetchall() and None
    )
    play(watch, "big", os.urandom(400_000).hex())
    play(watch, "small", "x")
    recorder.flush(5)
    assert watch.dropped == Counter(store_failed=1)
    assert list(store.runs()) == ["small"]


def test_uninstrumenting_writes_what_is_left(path) -> None:
    before = set(threading.enumerate())
    registry = prometheus_client.CollectorRegistry()
    with mastwatch.instrument(registry=registry, store=path), mastwatch.run("r") as run:
        mastwatch.message("A", "hello")
    assert SqliteStore(path).trace(run.id) is not None
    assert set(threading.enumerate()) <= before


def python(code: str, **environ: str) -> subprocess.CompletedProcess[str]:
    ours = ("OTEL_", "MASTWATCH_", "OPENAI_")
    env = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
    env |= {"MASTWATCH_PROMETHEUS_PORT": "0", "MASTWATCH_RAISE_ERRORS": "1"}
    env["OPENAI_BASE_URL"] = "http://127.0.0.1:9/v1"  # nobody is there, whatever is tried
    return subprocess.run(
        [sys.executable, "-B", "-c", textwrap.dedent(code)],
        capture_output=True, text=True, timeout=60, env={**env, **environ},
    )  # fmt: skip


RUN = """
    with mastwatch.run("r") as run:
        mastwatch.message("A", "hello there", to="B")
        mastwatch.tool("search", {"q": 1}, agent="A", result="nothing")
    mastwatch.outcome(run_id=run.id, success=False, expected="x")
"""


def test_a_key_in_the_environment_alone_opens_no_connection_and_writes_no_byte(tmp_path) -> None:
    code = f"""
        import os, sys
        seen = []
        def hook(event, args):
            if event in ("socket.connect", "socket.getaddrinfo", "sqlite3.connect", "os.mkdir"):
                seen.append((event, str(args)))
            if event == "open" and len(args) == 3 and isinstance(args[2], int):
                if args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                    seen.append((event, str(args)))
        sys.addaudithook(hook)
        import mastwatch
        handle = mastwatch.instrument()
        {textwrap.indent(textwrap.dedent(RUN), " " * 8).strip()}
        mastwatch.flush()
        handle.uninstrument()
        print(seen, [m for m in ("sqlite3", "openai", "mastwatch.store") if m in sys.modules])
    """
    home = tmp_path / "home"
    home.mkdir()
    done = python(code, OPENAI_API_KEY="sk-x", HOME=str(home), XDG_STATE_HOME=str(home / "state"))
    assert (done.stdout, done.stderr) == ("[] []\n", "")
    assert list(home.iterdir()) == []


@pytest.mark.parametrize(
    "variable", [{"MASTWATCH_STORE": "true"}, {"MASTWATCH_JUDGE": "1"}, {"MASTWATCH_STORE": "1"}]
)
def test_the_default_file_is_made_where_it_is_asked_for(tmp_path, variable) -> None:
    code = "import mastwatch\nmastwatch.instrument()" + textwrap.dedent(RUN)
    done = python(code, XDG_STATE_HOME=str(tmp_path), **variable)
    assert done.returncode == 0, done.stderr
    [run] = SqliteStore(tmp_path / "mastwatch" / "runs.sqlite", create=False).listing()
    assert run.success is False  # written at exit, the outcome too


@pytest.mark.parametrize("word", ["false", "0", "off"])
def test_a_word_for_no_is_no(tmp_path, word) -> None:
    code = "import mastwatch\nmastwatch.instrument()" + textwrap.dedent(RUN)
    python(code, XDG_STATE_HOME=str(tmp_path), MASTWATCH_STORE=word)
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_hangs_delays_the_exit_by_the_flush_timeout_at_most(tmp_path) -> None:
    path = tmp_path / "runs.sqlite"
    code = f"""
        import atexit, sqlite3, time
        import mastwatch
        mastwatch.instrument(store={str(path)!r}, flush_timeout=0.3)
        lock = sqlite3.connect({str(path)!r}, isolation_level=None)
        lock.execute("BEGIN IMMEDIATE")
        {textwrap.indent(textwrap.dedent(RUN), " " * 8).strip()}
        print(time.monotonic())
    """
    done = python(code)
    took = time.monotonic() - float(done.stdout)
    assert 0.3 <= took < 3.0  # SQLite itself would wait for 5 seconds
    assert done.returncode == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forked_workers_write_their_own_runs_and_the_parents_stay_its_own(tmp_path) -> None:
    path = tmp_path / "runs.sqlite"
    code = f"""
        import os, warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        import mastwatch
        mastwatch.instrument(store={str(path)!r})
        def one(name):
            with mastwatch.run(name):
                mastwatch.message("A", "hello")
        one("before")
        with mastwatch.run("around"):
            children = []
            for number in range(4):
                child = os.fork()
                if child == 0:
                    break
                children.append(child)
        if child == 0:
            one(f"child{{number}}")
            mastwatch.flush()
            os._exit(0)
        for child in children:
            assert os.waitpid(child, 0)[1] == 0
        one("after")
    """
    done = python(code)
    assert done.returncode == 0, done.stderr
    store = SqliteStore(path)
    names = [store.trace(run_id).name for run_id in store.runs()]
    assert sorted(names) == ["after", "around", "before", "child0", "child1", "child2", "child3"]


def test_a_closed_writer_takes_nothing_more() -> None:
    lost: list[str] = []
    writer = Writer(lost.append)
    assert writer.close(1) is True
    writer.put(lambda: None)
    assert lost == ["store_queue_full"]


def test_arguments_nested_without_end_are_written_all_the_same(instrumented, path) -> None:
    nested: object = "x"
    for _ in range(200):
        nested = [nested]
    run = instrumented.emitter.start_run("r", framework="custom")
    run.message("A", "", tool_calls=(ToolRequest(name="t", arguments=nested),))
    run.finish("completed")
    mastwatch.flush()
    assert SqliteStore(path).trace(run.id).rows[0].tool_calls[0].name == "t"
