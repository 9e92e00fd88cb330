"""What an attribution becomes outside: metrics, and an evaluation event on the run's span."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from prometheus_client import CollectorRegistry

from judge.stub import LOOP, trace
from mastwatch.sinks.metrics.judge import JudgeMetrics
from mastwatch.sinks.metrics.labels import MAX_LABEL_VALUES
from mastwatch.sinks.prometheus import PrometheusInstruments
from mastwatch.sinks.verdicts import VerdictEvents
from mastwatch.spans.content import ContentPolicy
from mastwatch.spans.evaluation import EvaluationLog
from mastwatch.store import Attribution, Candidate, Evidence, Usage

TRACE = trace(trace_id="0af7651916cd43dd8448eb211c80319c", span_id="b7ad6b7169203331")
TRACE = replace(
    TRACE,
    rows=tuple(replace(row, span_id="00f067aa0ba902b7") if row.index == 3 else row
               for row in TRACE.rows),
)  # fmt: skip
WHY = "The clerk announces one search twice and finds nothing new."
INSTEAD = "Ask the chair where else the log may be kept."
EVIDENCE = (Evidence(message_index=3, quote=LOOP),)
FOUND = Attribution(
    run_id="run-1",
    method="propose_verify",
    result="attributed",
    step=3,
    agent="Clerk",
    reason=WHY,
    counterfactual=INSTEAD,
    evidence=EVIDENCE,
    candidates=(
        Candidate(step=3, agent="Clerk", reason=WHY, evidence=EVIDENCE, check="survived"),
        Candidate(step=4, agent="Clerk", reason="It gives up.", objection="Too late to matter."),
    ),
    modes=("step_repetition",),
    named_agent="I give up. I give up.",
    prompt_version="1",
    model="model-1",
    usage=Usage(calls=3, input_tokens=700, output_tokens=60, usd=0.125, seconds=2.5),
)
NOTHING = replace(
    FOUND, result="not_evaluated", step=None, agent="", reason="budget", counterfactual="",
    evidence=(), candidates=(), modes=(), named_agent="",
)  # fmt: skip


# Metrics.


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def metrics(registry) -> JudgeMetrics:
    return JudgeMetrics(PrometheusInstruments(registry))


def runs(registry: CollectorRegistry, agent: str = "Clerk", result: str = "attributed") -> Any:
    labels = {"method": "propose_verify", "framework": "autogen", "agent": agent, "result": result}
    return registry.get_sample_value("mastwatch_attributions_total", labels)


def tokens(registry: CollectorRegistry, kind: str) -> Any:
    return registry.get_sample_value("mastwatch_attribution_tokens_total", {"type": kind})


def seconds(registry: CollectorRegistry, method: str = "propose_verify") -> Any:
    return registry.get_sample_value("mastwatch_attribution_seconds_count", {"method": method})


def test_an_attribution_is_counted_by_who_decided(registry, metrics) -> None:
    metrics.on_attribution(FOUND, TRACE)
    metrics.on_attribution(replace(FOUND, result="unverified"), TRACE)
    metrics.on_attribution(NOTHING, TRACE)
    assert runs(registry) == 1
    assert runs(registry, result="unverified") == 1
    assert runs(registry, "none", "not_evaluated") == 1
    assert runs(registry, result="not_evaluated") is None
    assert (tokens(registry, "input"), tokens(registry, "output")) == (2_100, 180)
    assert seconds(registry) == 3
    assert registry.get_sample_value("mastwatch_judge_cost_usd_total") == 0.375
    assert registry.get_sample_value("mastwatch_judge_tokens_total", {"type": "input"}) == 0


def test_what_is_bounded_exists_from_the_start(registry, metrics) -> None:
    assert tokens(registry, "input") == 0
    for method in ("propose_verify", "all_at_once", "step_by_step", "binary_search"):
        assert seconds(registry, method) == 0
    metrics.on_attribution(FOUND, TRACE)
    assert runs(registry, result="unverified") == 0
    metrics.on_attribution(NOTHING, TRACE)
    assert runs(registry, "none", "none") == 0


def test_what_is_spent_on_one_that_is_put_off_is_counted_and_nothing_else(
    registry, metrics
) -> None:
    metrics.on_put_off(replace(NOTHING, reason="timeout"))
    assert tokens(registry, "input") == 700
    assert registry.get_sample_value("mastwatch_judge_cost_usd_total") == 0.125
    assert runs(registry, "none", "not_evaluated") is None
    assert seconds(registry) == 0


def test_agents_are_bounded(registry, metrics) -> None:
    for number in range(MAX_LABEL_VALUES + 50):
        metrics.on_attribution(replace(FOUND, agent=f"agent {number}"), TRACE)
    assert runs(registry, "other") == 50
    series = [s for family in registry.collect() for s in family.samples
              if s.name == "mastwatch_attributions_total"]  # fmt: skip
    assert len(series) == 2 * (MAX_LABEL_VALUES + 1)


def test_a_closed_sink_leaves_nothing_behind(registry, metrics) -> None:
    metrics.on_attribution(FOUND, TRACE)
    metrics.close()
    assert list(registry.collect()) == []


# The evaluation event.


def written(found: Attribution = FOUND, capture: bool = False) -> Any:
    exporter = InMemoryLogRecordExporter()
    provider = LoggerProvider()
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    log = EvaluationLog(lambda: provider.get_logger("test"))
    VerdictEvents(log, ContentPolicy(capture)).on_attribution(found, TRACE)
    [data] = exporter.get_finished_logs()
    return data.log_record


def test_it_is_one_event_on_the_run_s_root_span() -> None:
    record = written()
    assert record.event_name == "gen_ai.evaluation.result"
    assert f"{record.trace_id:032x}" == TRACE.trace_id
    assert f"{record.span_id:016x}" == TRACE.span_id
    assert record.severity_text == "INFO"
    assert dict(record.attributes) == {
        "gen_ai.evaluation.name": "attribution",
        "gen_ai.evaluation.score.label": "attributed",
        "mastwatch.run.id": "run-1",
        "mastwatch.attribution.result": "attributed",
        "mastwatch.attribution.step": 3,
        "mastwatch.attribution.agent": "Clerk",
        "mastwatch.attribution.span_id": "00f067aa0ba902b7",
        "mastwatch.attribution.method": "propose_verify",
        "mastwatch.attribution.model": "model-1",
        "mastwatch.attribution.prompt_version": "1",
        "mastwatch.attribution.modes": ("step_repetition",),
        "mastwatch.attribution.candidates": (3, 4),
        "mastwatch.attribution.evidence": (3,),
        "mastwatch.attribution.ground_truth": False,
    }


def test_one_that_could_not_be_is_a_warning_with_its_reason() -> None:
    record = written(NOTHING)
    assert record.severity_text == "WARN"
    assert record.attributes["error.type"] == "budget"
    assert record.attributes["mastwatch.attribution.reason"] == "budget"
    assert "mastwatch.attribution.step" not in record.attributes
    assert "gen_ai.evaluation.score.label" not in record.attributes
    nobody = written(replace(NOTHING, result="none", reason="no_error"))
    assert nobody.severity_text == "INFO"
    assert nobody.attributes["gen_ai.evaluation.score.label"] == "none"


def test_words_are_exported_with_content_capture_only() -> None:
    told = str(dict(written().attributes))
    for text in (LOOP, WHY, INSTEAD, FOUND.named_agent, "Too late to matter."):
        assert not [n for n in range(len(text) - 11) if text[n : n + 12] in told]
    attributes = written(capture=True).attributes
    assert attributes["gen_ai.evaluation.explanation"] == WHY
    assert attributes["mastwatch.attribution.counterfactual"] == INSTEAD
    assert attributes["mastwatch.attribution.quotes"] == (LOOP,)
