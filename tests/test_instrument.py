"""The one line and its undoing, quiet by default."""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
import textwrap
import time
import urllib.request

import prometheus_client
import pytest
from opentelemetry import _logs, trace
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import mastwatch
from mastwatch import guard
from mastwatch.watch import Sink

LOOP = "I will search the archive for the missing invoice number once more now"


@pytest.fixture
def registry():
    return prometheus_client.CollectorRegistry()


@pytest.fixture
def instrumented(registry):
    with mastwatch.instrument(registry=registry) as handle:
        yield handle


def loop(times: int = 6) -> str:
    with mastwatch.run("demo", task="find the invoice") as run:
        for _ in range(times):
            mastwatch.message("Planner", LOOP, to="Coder")
            mastwatch.tool("search", {"q": "invoice"}, agent="Coder", result="nothing found")
    return run.id


def python(code: str, **environ: str) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OTEL_", "MASTWATCH_"))}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True, text=True, timeout=60, env={**env, **environ},
    )  # fmt: skip


def test_twice_is_once(instrumented) -> None:
    assert mastwatch.instrument() is instrumented


def test_a_repetition_is_flagged_while_the_run_goes_on(instrumented, registry) -> None:
    seen = []
    mastwatch.on_finding(seen.append)
    with mastwatch.run("demo"):
        for i in range(4):
            mastwatch.message("Planner", LOOP, to="Coder")
            mastwatch.tool("search", {"q": "invoice"}, agent="Coder", result="nothing found")
            if i == 2:
                break
        assert [f.mode for f in seen if f.severity >= mastwatch.Severity.WARN] != []
        text = prometheus_client.generate_latest(registry).decode()
    assert 'mastwatch_findings_total{category="system_design",framework="custom"' in text
    assert seen[0].mode == "FM-1.3"


def test_bounded_children_exist_before_the_first_finding(instrumented, registry) -> None:
    text = prometheus_client.generate_latest(registry).decode()
    line = 'mastwatch_flagged_runs_total{framework="langgraph",mode="FM-1.5",severity="alert"} 0.0'
    assert line in text


def test_run_labels_come_from_tags(registry) -> None:
    with mastwatch.instrument(registry=registry, metric_labels=["tenant"]):
        with mastwatch.run("demo", tags={"tenant": "acme"}):
            mastwatch.message("A", "hello there")
        text = prometheus_client.generate_latest(registry).decode()
    assert 'mastwatch_messages_total{agent="A",framework="custom",tenant="acme"} 1.0' in text
    assert prometheus_client.generate_latest(registry) == b""  # undone with the handle


def test_metrics_are_served_on_loopback_and_a_taken_port_is_stepped_over(caplog) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with mastwatch.instrument(prometheus_port=port) as handle:
            assert handle.metrics_url == f"http://127.0.0.1:{port + 1}/metrics"
            text = urllib.request.urlopen(handle.metrics_url).read().decode()
    assert "mastwatch_build_info{" in text
    assert f":{port + 1}/metrics" in caplog.text
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(f"http://127.0.0.1:{port + 1}/metrics")


def test_the_evaluation_event_speaks_of_the_span(instrumented, monkeypatch) -> None:
    logs, spans = InMemoryLogRecordExporter(), InMemorySpanExporter()
    log_provider, provider = LoggerProvider(), TracerProvider()
    log_provider.add_log_record_processor(SimpleLogRecordProcessor(logs))
    provider.add_span_processor(SimpleSpanProcessor(spans))
    monkeypatch.setattr(_logs._internal, "_LOGGER_PROVIDER", log_provider)
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    run_id = loop()
    record = logs.get_finished_logs()[0].log_record
    assert record.event_name == "gen_ai.evaluation.result"
    assert record.attributes["gen_ai.evaluation.name"] == "MAST.FM-1.3"
    assert record.attributes["mastwatch.run.id"] == run_id
    fired = [s for s in spans.get_finished_spans() if s.context.span_id == record.span_id]
    assert [e.name for e in fired[0].events] == ["mastwatch.finding"]


def test_a_provider_the_host_sets_later_is_used() -> None:
    done = python("""
        import mastwatch
        mastwatch.instrument(prometheus_port=0)
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
        exporter, provider = InMemorySpanExporter(), TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        trace.set_tracer_provider(provider)
        assert trace.get_tracer_provider() is provider
        with mastwatch.run("r"):
            mastwatch.message("A", "hi")
        print([s.name for s in exporter.get_finished_spans()])
    """)
    assert (done.stdout.strip(), done.stderr) == (
        "['agent_message A', 'invoke_workflow r']",
        "",
    )


def test_a_provider_of_the_host_is_never_replaced() -> None:
    done = python("""
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider
        mine = TracerProvider(); trace.set_tracer_provider(mine)
        import mastwatch
        h = mastwatch.instrument(prometheus_port=0)
        assert trace.get_tracer_provider() is mine
        h.uninstrument()
        assert trace.get_tracer_provider() is mine
        assert mine._active_span_processor._span_processors == ()
        print("ok")
    """)
    assert (done.stdout, done.stderr) == ("ok\n", "")


def test_without_an_endpoint_a_provider_is_set_and_nothing_is_printed() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    code = """
        import mastwatch
        from opentelemetry import trace
        mastwatch.instrument()
        print(type(trace.get_tracer_provider()).__name__)
        with mastwatch.run("r"):
            mastwatch.message("A", "hi")
    """
    done = python(code, MASTWATCH_PROMETHEUS_PORT=port)
    assert (done.stdout, done.stderr, done.returncode) == ("TracerProvider\n", "", 0)


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_a_dead_endpoint_prints_nothing_and_exit_waits_no_longer_than_the_time_out(
    protocol,
) -> None:
    code = """
        import mastwatch, time, sys
        mastwatch.instrument(prometheus_port=0)
        with mastwatch.run("r"):
            mastwatch.message("A", "hi")
        began = time.monotonic()
        import atexit
        # Registered last, so it runs first: what comes after it is our flush.
        atexit.register(lambda: print(f"{time.monotonic():.3f}", flush=True))
    """
    done = python(
        code,
        OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9",
        OTEL_EXPORTER_OTLP_PROTOCOL=protocol,
        MASTWATCH_FLUSH_TIMEOUT="0.5",
    )
    ended = time.monotonic()
    assert (done.stderr, done.returncode) == ("", 0)
    # Generous: a flush that ignored its time-out would take the exporter's 10 s or more.
    assert ended - float(done.stdout) < 8


def snapshot() -> dict[str, object]:
    return {
        "meta_path": list(sys.meta_path),
        "collectors": set(prometheus_client.REGISTRY._collector_to_names),
        "handlers": list(logging.getLogger("mastwatch").handlers),
        "observers": list(guard._observers),
        "provider": trace.get_tracer_provider(),
        "filters": list(logging.getLogger("opentelemetry.sdk._shared_internal").filters),
    }


def test_uninstrument_leaves_nothing_of_ours_behind() -> None:
    mastwatch.instrument(metrics="none").uninstrument()  # first use imports what stays imported
    before = snapshot()
    handle = mastwatch.instrument()
    loop()
    assert snapshot() != before
    handle.uninstrument()
    handle.uninstrument()
    mastwatch.uninstrument()
    assert snapshot() == before
    assert mastwatch.flush() is True


def test_a_missing_framework_asked_for_by_name_is_one_warning(registry, caplog) -> None:
    with mastwatch.instrument(registry=registry, frameworks=["nonesuch"], detectors=["nope"]):
        pass
    assert "there is no framework 'nonesuch'; known: ag2, agentchat, autogen" in caplog.text
    assert "there is no detector 'nope'" in caplog.text


def test_a_variable_opentelemetry_cannot_read_costs_the_export_only() -> None:
    code = """
        import mastwatch
        mastwatch.instrument(prometheus_port=0)
        with mastwatch.run("r"):
            print(mastwatch.message("A", "hi"))
    """
    endpoint = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    done = python(code, OTEL_BSP_MAX_QUEUE_SIZE="-1", **endpoint)
    assert (done.stdout, done.returncode) == ("0\n", 0)
    assert "internal error in export.traces (ValueError" in done.stderr


def test_an_instrumentor_that_fails_is_taken_back_and_stops_no_other(
    registry, monkeypatch, caplog
) -> None:
    pytest.importorskip("autogen")
    pytest.importorskip("langchain_core.tracers.context")
    from mastwatch_instrumentations.autogen import AutoGenInstrumentor

    undone = []

    def broken(self, emitter):
        raise RuntimeError

    monkeypatch.delenv("MASTWATCH_RAISE_ERRORS")
    monkeypatch.setattr(AutoGenInstrumentor, "install", broken)
    monkeypatch.setattr(AutoGenInstrumentor, "uninstall", lambda self: undone.append(self))
    guard.reset()
    with mastwatch.instrument(registry=registry) as handle:
        assert "langchain" in handle.enabled
        assert "autogen" not in handle.enabled
    assert len(undone) == 1
    assert "internal error in install.autogen (RuntimeError" in caplog.text


def test_flagged_runs_and_runs_share_their_framework(registry) -> None:
    autogen = pytest.importorskip("autogen")
    with mastwatch.instrument(registry=registry):
        text = "Thank you so much, it was a great pleasure to work with you!"
        host, guest = (
            autogen.ConversableAgent(
                name, llm_config=False, default_auto_reply=text, human_input_mode="NEVER"
            )
            for name in ("host", "guest")
        )
        with mastwatch.run("farewells"):
            host.initiate_chat(guest, message="We are done, thanks!", max_turns=6, silent=True)
        lines = prometheus_client.generate_latest(registry).decode().splitlines()
    flagged = [x for x in lines if x.startswith("mastwatch_flagged_runs_total{")]
    assert {x.split('"')[1] for x in flagged if not x.endswith(" 0.0")} == {"custom"}


def test_a_framework_too_old_is_said_and_left_alone(registry, monkeypatch, caplog) -> None:
    langchain = pytest.importorskip("mastwatch_instrumentations.langchain")
    pytest.importorskip("langchain_core.tracers.context")
    monkeypatch.setattr(langchain.LangChainInstrumentor, "minimum", {"langchain-core": "99.0"})
    with mastwatch.instrument(registry=registry) as handle:
        assert "langchain" not in handle.enabled
    assert "is too old, 99.0 or later is needed; it is not watched" in caplog.text


def test_a_sink_made_to_raise_shows_in_the_counter_only(
    instrumented, registry, monkeypatch
) -> None:
    class Broken(Sink):
        name = "broken"

        def on_event(self, event, framework):
            raise RuntimeError

    monkeypatch.delenv("MASTWATCH_RAISE_ERRORS")
    instrumented.add_sink(Broken())
    loop(1)
    text = prometheus_client.generate_latest(registry).decode()
    assert 'mastwatch_internal_errors_total{where="sink.broken"}' in text


def test_without_instrument_the_calls_are_inert() -> None:
    with mastwatch.run("r") as run:
        assert mastwatch.message("A", "x") is None
        with mastwatch.tool("t") as call:
            call.result = 1
        mastwatch.outcome(success=True)
    assert run.id == ""


def test_exceptions_of_the_host_are_the_same_objects(instrumented) -> None:
    error = ValueError("mine")
    with (
        pytest.raises(ValueError, match="mine") as caught,
        mastwatch.run("r"),
        mastwatch.tool("t", agent="A"),
    ):
        raise error
    assert caught.value is error
    assert error.__context__ is None


def test_a_message_outside_a_run_is_said_once(instrumented, caplog) -> None:
    from mastwatch import manual

    manual._said.clear()
    mastwatch.message("A", "x")
    mastwatch.message("A", "x")
    assert caplog.text.count("is not recorded") == 1


def test_outcomes_are_counted_and_stand_on_the_run(instrumented, registry) -> None:
    with mastwatch.run("r"):
        mastwatch.outcome(success=True, score=0.5)
    mastwatch.outcome(success=False, run_id="an-older-run")
    text = prometheus_client.generate_latest(registry).decode()
    assert 'mastwatch_run_outcomes_total{source="host",success="true"} 1.0' in text
    assert 'mastwatch_run_outcomes_total{source="host",success="false"} 1.0' in text
