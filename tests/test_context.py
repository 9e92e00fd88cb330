"""One run in the threads of frameworks; in other processes a run that knows where it belongs."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import TracerProvider

import mastwatch
from mastwatch.events import Event, MessageSent, RunStarted
from mastwatch.sink import Sink
from mastwatch.spans import hops
from mastwatch.store.sqlite import SqliteStore
from mastwatch.testing import Recording

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
TRACEPARENT = f"00-{TRACE}-00f067aa0ba902b7-01"
RUN = "0123456789abcdef0123456789abcdef"


class Notes(Sink):
    name = "notes"

    def __init__(self) -> None:
        self.events: list[Event] = []

    def on_event(self, event: Event, framework: str) -> None:
        self.events.append(event)


@pytest.fixture
def notes() -> Iterator[Notes]:
    with mastwatch.instrument(metrics="none", bridge=False) as handle:
        sink = Notes()
        handle.add_sink(sink)
        yield sink


def ids(notes: Notes) -> set[str]:
    return {event.run_id for event in notes.events}


def test_agents_that_ag2_runs_in_a_thread_belong_to_the_run_around(notes: Notes) -> None:
    pytest.importorskip("autogen")
    from apps import autogen_apps as apps

    def weather(city: str) -> str:
        return "Rain"

    lines = [*[[("weather", '{"city": "Kiel"}')]] * 5, "Rain. TERMINATE"]
    found: list[Any] = []
    mastwatch.on_finding(found.append)
    for reason in ("", "asked for"):
        notes.events.clear()
        user, assistant = apps.weather_pair(weather, list(lines))
        with mastwatch.run("trip") as run:
            if reason:
                with mastwatch.allow("FM-1.3", reason=reason):
                    response = user.run(assistant, message="Weather?")
            else:
                response = user.run(assistant, message="Weather?")
            response.process()
        assert ids(notes) == {run.id}
        assert any(isinstance(event, MessageSent) for event in notes.events)
    assert {(finding.mode, finding.run_id == run.id) for finding in found} == {("FM-1.3", False)}


def test_agents_of_langchain_in_a_bare_thread_belong_to_the_run_around(notes: Notes) -> None:
    pytest.importorskip("langgraph")
    from apps import langgraph_apps as apps

    app = apps.supervisor_app()
    with mastwatch.run("trip") as run:
        thread = threading.Thread(target=app.invoke, args=(apps.INPUT,))
        thread.start()
        thread.join()
    assert ids(notes) == {run.id}


def test_what_is_passed_on_names_trace_and_run() -> None:
    assert mastwatch.carrier() == {}
    with mastwatch.instrument(metrics="none", frameworks=[]):
        assert mastwatch.carrier() == {}
        with mastwatch.run("trip") as run:
            headers = mastwatch.carrier()
            variables = mastwatch.carrier(environ=True)
            span = trace.get_current_span().get_span_context()
    assert headers == {
        "traceparent": f"00-{span.trace_id:032x}-{span.span_id:016x}-{span.trace_flags:02x}",
        "baggage": f"mastwatch.run.id={run.id}",
    }
    assert variables == {key.upper(): value for key, value in headers.items()}


def test_baggage_of_the_host_s_own_requests_names_the_run_only_if_asked_for() -> None:
    from opentelemetry import propagate

    for asked in (False, True):
        with (
            mastwatch.instrument(metrics="none", frameworks=[], propagate=asked),
            mastwatch.run("trip"),
        ):
            headers: dict[str, str] = {}
            propagate.inject(headers)
            assert "traceparent" in headers
            assert ("baggage" in headers) is asked
        assert not trace.get_current_span().get_span_context().is_valid


def test_a_run_below_another_process_s_is_in_its_trace_and_says_whose_it_is() -> None:
    recording = Recording()
    environ = {"TRACEPARENT": TRACEPARENT, "BAGGAGE": f"mastwatch.run.id={RUN},user=x", "PATH": "/"}
    recording.emitter.surroundings = hops.from_environment(environ)
    run = recording.emitter.start_run("part", framework="custom", tags={"tenant": "a"})
    branch = recording.emitter.start_run("inner", framework="custom", parent=run)
    branch.finish("completed")
    run.finish("completed")
    root = recording.spans[0]
    assert root.context is not None
    assert (f"{root.context.trace_id:032x}", run.id == RUN) == (TRACE, False)
    assert (root.attributes or {})["mastwatch.run.parent_id"] == RUN
    started = recording.of(RunStarted)
    assert [event.tags for event in started] == [
        {"tenant": "a", "mastwatch.run.parent_id": RUN},
        {},
    ]


def test_a_span_that_is_current_is_nearer_than_the_environment() -> None:
    recording = Recording()
    recording.emitter.surroundings = hops.from_environment({"TRACEPARENT": TRACEPARENT})
    with TracerProvider().get_tracer("host").start_as_current_span("request") as span:
        recording.emitter.start_run("part", framework="custom").finish("completed")
    assert recording.spans[0].context is not None
    assert recording.spans[0].context.trace_id == span.get_span_context().trace_id


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"TRACEPARENT": "", "BAGGAGE": ""},
        {"TRACEPARENT": "nonsense", "TRACESTATE": "=", "BAGGAGE": "%%%=,,;"},
        {"traceparent": TRACEPARENT},
        {"BAGGAGE": "mastwatch.run.id=" + "x" * 5_000},
    ],
)
def test_an_odd_environment_is_none(environ: dict[str, str]) -> None:
    context = hops.from_environment(environ)
    assert not trace.get_current_span(context or Context()).get_span_context().is_valid
    assert hops.caller(context or Context()) == ""


def test_propagators_that_are_not_there_cost_the_host_nothing() -> None:
    script = """
import mastwatch
with mastwatch.instrument(metrics="none", frameworks=[]), mastwatch.run("part"):
    print(mastwatch.carrier())
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "OTEL_PROPAGATORS": "nonesuch", "TRACEPARENT": TRACEPARENT},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, "{}\n")
    assert "mastwatch" not in done.stderr


@pytest.mark.slow
def test_a_process_started_from_a_run_belongs_to_it() -> None:
    script = """
import mastwatch, json
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
with mastwatch.instrument(metrics="none", frameworks=[]):
    with mastwatch.run("part") as run:
        span = trace.get_current_span()
        print(f"{span.get_span_context().trace_id:032x}")
        print(span.attributes["mastwatch.run.parent_id"])
"""
    with mastwatch.instrument(metrics="none", frameworks=[]), mastwatch.run("whole") as run:
        trace_id = trace.get_current_span().get_span_context().trace_id
        done = subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, **mastwatch.carrier(environ=True)},
            capture_output=True,
            text=True,
            check=True,
        )
    assert done.stdout.split() == [f"{trace_id:032x}", run.id]


@pytest.mark.slow
def test_a_request_to_another_process_gives_a_run_of_its_own_in_the_same_trace(
    tmp_path: Path,
) -> None:
    """Both write into one store: no row is lost, none is overwritten."""
    pytest.importorskip("opentelemetry.instrumentation.fastapi")
    pytest.importorskip("uvicorn")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    store = tmp_path / "runs.sqlite"
    env = {**os.environ, "MASTWATCH_STORE": str(store), "MASTWATCH_PROMETHEUS_PORT": "0"}
    watched = [sys.executable, "-m", "mastwatch.cli", "run"]
    apps = Path(__file__).parent / "apps"
    server = subprocess.Popen([*watched, str(apps / "hop_server.py"), port], env=env)
    try:
        _wait_for(int(port))
        url = f"http://127.0.0.1:{port}/depth"
        for _ in range(2):
            subprocess.run([*watched, str(apps / "hop_client.py"), url], env=env, check=True)
    finally:
        server.terminate()
        server.wait(20)
    kept = SqliteStore(store)
    traces = [trace for run in kept.runs() if (trace := kept.trace(run))]
    kept.close()
    voyages = {trace.run_id: trace for trace in traces if trace.name == "voyage"}
    soundings = [trace for trace in traces if trace.name == "sounding"]
    assert (len(voyages), len(soundings)) == (2, 2)
    for sounding in soundings:
        voyage = voyages[sounding.tags["mastwatch.run.parent_id"]]
        assert sounding.trace_id == voyage.trace_id != ""
        assert [row.agent for row in sounding.rows] == ["Leadsman", "Leadsman"]
        assert [row.agent for row in voyage.rows] == ["Pilot", "Pilot"]


def _wait_for(port: int) -> None:
    for _ in range(300):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise TimeoutError("the server did not come up")
