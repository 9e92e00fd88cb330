"""The whole path in one process: real frameworks, findings while the run goes on."""

from __future__ import annotations

import io
import logging
from contextlib import redirect_stdout, suppress

import prometheus_client
import pytest
from opentelemetry import _logs, trace
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import mastwatch
from mastwatch.demo.models import set_pace
from mastwatch.spans import semconv
from mastwatch.watch import Sink

pytest.importorskip("autogen")
pytest.importorskip("langgraph")
pytest.importorskip("langchain")

CANARY = "zanzibar marmalade velocipede 90125"


class Bench:
    """An instrumented process and all its channels."""

    def __init__(self, monkeypatch) -> None:
        self.spans, self.logs = InMemorySpanExporter(), InMemoryLogRecordExporter()
        self.registry = prometheus_client.CollectorRegistry()
        provider, log_provider = TracerProvider(), LoggerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self.spans))
        log_provider.add_log_record_processor(SimpleLogRecordProcessor(self.logs))
        monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
        monkeypatch.setattr(_logs._internal, "_LOGGER_PROVIDER", log_provider)
        self.handle = mastwatch.instrument(registry=self.registry)
        self.findings = []
        mastwatch.on_finding(self._hear)

    def _hear(self, finding) -> None:
        going = {state.run_id for state in self.handle.watch.runs.active()}
        self.findings.append((finding, finding.run_id in going))

    def metrics(self) -> str:
        return prometheus_client.generate_latest(self.registry).decode()

    def named(self, prefix: str) -> list:
        return [s for s in self.spans.get_finished_spans() if s.name.startswith(prefix)]


@pytest.fixture
def bench(monkeypatch):
    set_pace(0)
    made = Bench(monkeypatch)
    yield made
    made.handle.uninstrument()


def story(name: str):
    import importlib

    return importlib.import_module(f"mastwatch.demo.apps.{name}")


def play(name: str) -> str:
    out = io.StringIO()
    with redirect_stdout(out):
        story(name).main()
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "mode"),
    [("ag2_loop", "FM-1.3"), ("ag2_no_stop", "FM-1.5"), ("langgraph_restart", "FM-2.1")],
)
def test_each_failure_is_flagged_while_its_run_goes_on(bench, name, mode) -> None:
    play(name)
    warned = [
        (finding, going)
        for finding, going in bench.findings
        if finding.mode == mode and finding.severity >= mastwatch.Severity.WARN
    ]
    assert warned
    assert all(going for _, going in warned)
    first, _ = warned[0]
    assert first.evidence
    assert first.message_index in first.evidence
    last = max(
        s.attributes[semconv.MESSAGE_INDEX]
        for s in bench.spans.get_finished_spans()
        if semconv.MESSAGE_INDEX in s.attributes
    )
    assert first.message_index < last
    [run] = bench.named("invoke_workflow")
    assert run.attributes[semconv.RUN_MAX_SEVERITY] in ("warn", "alert")
    assert run.attributes[semconv.TERMINATION_REASON]
    fired = [e for s in bench.spans.get_finished_spans() for e in s.events]
    assert mode in {e.attributes.get("mastwatch.finding.mode") for e in fired}


def test_hooks_in_place_are_told(bench) -> None:
    text = bench.metrics()
    hooks = ("autogen", "ConversableAgent.initiate_chat"), ("langchain", "configure_hook")
    for framework, hook in hooks:
        line = f'mastwatch_hook_status{{framework="{framework}",hook="{hook}"}} 1.0'
        assert line in text
    assert "} 0.0" not in "".join(x for x in text.splitlines() if x.startswith("mastwatch_hook"))


def test_a_healthy_run_stays_below_warn(bench) -> None:
    play("langgraph_healthy")
    assert [f for f, _ in bench.findings if f.severity >= mastwatch.Severity.WARN] == []
    [run] = bench.named("invoke_workflow")
    assert run.attributes[semconv.RUN_OUTCOME] == "completed"


@pytest.mark.parametrize("name", ["ag2_loop", "langgraph_restart", "langgraph_healthy"])
def test_one_span_per_utterance_and_per_tool_call_in_one_trace(bench, name) -> None:
    seen = Counts()
    bench.handle.add_sink(seen)
    play(name)
    spans = bench.spans.get_finished_spans()
    carried = [
        s.attributes[semconv.MESSAGE_INDEX] for s in spans if semconv.MESSAGE_INDEX in s.attributes
    ]
    assert sorted(carried) == sorted(seen.messages)
    assert len(set(carried)) == len(carried)
    assert sorted([*carried, *seen.results]) == list(range(len(carried) + len(seen.results)))
    assert len(bench.named("execute_tool")) == len(seen.results)
    assert len({s.context.trace_id for s in spans}) == 1
    ids = {s.context.span_id for s in spans}
    assert [s.name for s in spans if s.parent is None or s.parent.span_id not in ids] == [
        s.name for s in bench.named("invoke_workflow")
    ]


class Counts(Sink):
    def __init__(self) -> None:
        self.messages, self.results = [], []

    def on_event(self, event, framework):
        kind = type(event).__name__
        if kind == "MessageSent":
            self.messages.append(event.index)
        elif kind == "ToolReturned":
            self.results.append(event.index)


@pytest.mark.parametrize("name", ["ag2_no_stop", "langgraph_healthy"])
def test_the_app_prints_the_same_with_and_without_us(monkeypatch, name) -> None:
    set_pace(0)
    before = play(name)
    bench = Bench(monkeypatch)
    try:
        watched = play(name)
    finally:
        bench.handle.uninstrument()
    after = play(name)
    calls = r"call_\d+"
    assert mask(calls, before) == mask(calls, watched) == mask(calls, after)
    assert bench.findings or name == "langgraph_healthy"


def mask(pattern: str, text: str) -> str:
    import re

    return re.sub(pattern, "call", text)


def canary_ag2() -> None:
    from apps import autogen_apps as apps

    def weather(city: str) -> str:
        return f"in {city}: {CANARY}"

    call = [("weather", f'{{"city": "{CANARY}"}}')]
    proxy, helper = apps.weather_pair(weather, [call] * 6 + [f"{CANARY}. TERMINATE"])
    proxy.initiate_chat(helper, message=f"Please say: {CANARY}", max_turns=20)


def canary_langgraph() -> None:
    from apps import langgraph_apps as apps

    call = apps.calls(("broken", {"city": CANARY}), text=f"I will look up {CANARY} in the list")
    graph = apps.tool_agent_app([call] * 6 + [CANARY])
    with suppress(ValueError):  # the tool's own error, as without us
        graph.invoke({"messages": [("user", f"Please say: {CANARY}")]}, {"recursion_limit": 40})


@pytest.mark.parametrize("app", [canary_ag2, canary_langgraph])
def test_with_capture_off_no_channel_carries_message_text(bench, app, caplog) -> None:
    with caplog.at_level(logging.DEBUG, logger="mastwatch"), redirect_stdout(io.StringIO()):
        app()
    spans = "".join(s.to_json() for s in bench.spans.get_finished_spans())
    logs = "".join(repr(r.log_record) for r in bench.logs.get_finished_logs())
    ours = "".join(r.getMessage() for r in caplog.records if r.name == "mastwatch")
    findings = repr(bench.findings)
    assert "execute_tool" in spans
    channels = {"spans": spans, "logs": logs, "metrics": bench.metrics(), "log": ours,
                "findings": findings}  # fmt: skip
    pieces = {CANARY[i : i + 12] for i in range(len(CANARY) - 11)}
    leaks = {name for name, text in channels.items() for piece in pieces if piece in text}
    assert leaks == set()


def test_a_detector_made_to_raise_leaves_the_app_unharmed(bench, monkeypatch) -> None:
    from mastwatch_detectors.step_repetition import StepRepetition

    def broken(self, event, signals):
        raise RuntimeError("ours")

    expected = play("ag2_no_stop")
    monkeypatch.delenv("MASTWATCH_RAISE_ERRORS")
    monkeypatch.setattr(StepRepetition, "observe", broken)
    assert mask(r"call_\d+", play("ag2_no_stop")) == mask(r"call_\d+", expected)
    where = 'mastwatch_internal_errors_total{where="detector.step_repetition"}'
    [line] = [line for line in bench.metrics().splitlines() if line.startswith(where)]
    assert float(line.rsplit(" ", 1)[1]) > 0
    assert "FM-1.5" in {f.mode for f, _ in bench.findings}


def test_agents_and_graphs_made_before_are_seen(monkeypatch) -> None:
    from apps import autogen_apps, langgraph_apps

    proxy, helper = autogen_apps.weather_pair()
    graph = langgraph_apps.supervisor_app()
    bench = Bench(monkeypatch)
    try:
        with redirect_stdout(io.StringIO()):
            proxy.initiate_chat(helper, message="Weather?", max_turns=10)
            graph.invoke({"messages": [("user", "How many live in Ulm?")]})
    finally:
        bench.handle.uninstrument()
    assert len(bench.named("invoke_workflow")) == 2
    assert len(bench.named("execute_tool weather")) == 2
    assert len(bench.named("execute_tool lookup")) == 1
