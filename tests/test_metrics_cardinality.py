"""However many agents and tools there are and whatever they are called, /metrics stays small."""

from __future__ import annotations

import time
import urllib.request
from itertools import product

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from mastwatch.events import MessageSent, ModelCalled, RunFinished, RunStarted, ToolReturned
from mastwatch.findings import Finding, Severity
from mastwatch.runs import Runs
from mastwatch.sinks.metrics.labels import BoundedLabel
from mastwatch.sinks.prometheus import MetricsServer, PrometheusSink

AGENTS, TOOLS = 10_000, 500
MODES = (
    "FM-1.2", "FM-1.3", "FM-1.4", "FM-1.5", "FM-2.1",
    "FM-2.4", "FM-2.5", "FM-2.6", "FM-3.1", "FM-3.2",
)  # fmt: skip
HOSTILE = ("a\nb", 'quo"ted', "back\\slash", "ctrl\x00\x1b[31m", "half \ud800 pair", "x" * 10_000,
           "長" * 10_000, " ", "\u202e right to left", "{le=\"1\"}")  # fmt: skip


def names(kind: str, count: int) -> list[str]:
    """Hostile ones first: they must not get out of it by being late."""
    plain = [f"{kind} {number} " + "of the long name " * 600 for number in range(count)]
    return [*HOSTILE, *plain][:count]


def feed(sink: PrometheusSink) -> None:
    for number, agent in enumerate(names("agent", AGENTS)):
        run = f"run-{number}"
        sink.on_event(RunStarted(run_id=run, at=0.0, name="w", framework="autogen"), "autogen")
        sink.on_event(MessageSent(run_id=run, index=0, sender=agent), "autogen")
        for mode, severity in product(MODES, (Severity.SUSPECT, Severity.WARN, Severity.ALERT)):
            sink.on_finding(
                Finding(
                    mode=mode, severity=severity, detector="detector of " + mode, run_id=run,
                    agent=agent, message_index=0, evidence=(0,), explanation="", fingerprint="f",
                    framework="autogen",
                )
            )  # fmt: skip
        sink.on_event(RunFinished(run_id=run, at=1.0, outcome="completed"), "autogen")
    for tool in names("tool", TOOLS):
        for error in (None, "ValueError"):
            event = ToolReturned(
                run_id="r", index=0, agent="a", name=tool, error=error, seconds=0.1
            )
            sink.on_event(event, "autogen")
        event = ModelCalled(run_id="r", index=0, model=tool, input_tokens=3, seconds=1.0)
        sink.on_event(event, "autogen")


@pytest.mark.slow
def test_size_time_and_totals_with_10_000_agents_and_500_tools() -> None:
    registry = CollectorRegistry()
    sink = PrometheusSink(
        Runs(), frameworks=["autogen", "langchain"], modes=MODES, registry=registry
    )
    feed(sink)
    server = MetricsServer("127.0.0.1", 0, registry)
    try:
        best = float("inf")
        for _ in range(5):
            began = time.perf_counter()
            body = urllib.request.urlopen(server.url).read()
            best = min(best, time.perf_counter() - began)
    finally:
        server.close()
    print(f"{len(body)} bytes, {body.count(b'mastwatch_')} lines, {best * 1000:.0f} ms")
    assert len(body) < 2_000_000
    assert best < 1.0  # 0.2 s is the aim on an idle machine; CI's is rarely idle
    sums: dict[str, float] = {}
    for family in text_string_to_metric_families(body.decode()):
        for sample in family.samples:
            sums[sample.name] = sums.get(sample.name, 0.0) + sample.value
    assert sums["mastwatch_messages_total"] == AGENTS
    assert sums["mastwatch_runs_total"] == AGENTS
    assert sums["mastwatch_tool_calls_total"] == TOOLS * 2
    assert sums["mastwatch_tool_call_seconds_count"] == TOOLS * 2
    assert sums["mastwatch_tokens_total"] == TOOLS * 3
    findings = AGENTS * len(MODES) * 3
    for name in ("findings", "agent_findings", "flagged_runs"):
        assert sums[f"mastwatch_{name}_total"] == findings, name


def test_hostile_values_are_one_printable_line_each() -> None:
    registry = CollectorRegistry()
    sink = PrometheusSink(Runs(), registry=registry)
    for agent in HOSTILE:
        sink.on_event(MessageSent(run_id="r", index=0, sender=agent), "custom")
    text = generate_latest(registry).decode()
    lines = [line for line in text.splitlines() if line.startswith("mastwatch_messages_total{")]
    assert len(lines) == len(HOSTILE)
    assert all(line.isprintable() and len(line.encode()) < 300 for line in lines)
    samples = [f for f in text_string_to_metric_families(text) if f.name == "mastwatch_messages"]
    assert {s.value for s in samples[0].samples} == {1.0}


def test_a_value_that_had_to_be_cleaned_is_known_when_it_comes_again() -> None:
    label = BoundedLabel(limit=2)
    long = "x" * 10_000
    first = label(long)
    label("second")
    assert label("third") == "other"
    assert label(long) == first


def test_no_series_tells_when_another_was_created() -> None:
    registry = CollectorRegistry()
    PrometheusSink(Runs(), registry=registry, modes=MODES)
    assert "_created" not in generate_latest(registry).decode()
