"""What a report becomes outside: metrics, evaluation events on the run's span, findings."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from typing import Any

import pytest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from prometheus_client import CollectorRegistry

from judge.stub import LOOP, trace
from mastwatch.findings import Finding, Severity
from mastwatch.judge.calibrate import Calibration, Calibrations
from mastwatch.judge.findings import findings
from mastwatch.reports import wording
from mastwatch.sinks.metrics.judge import REASONS, JudgeMetrics
from mastwatch.sinks.prometheus import PrometheusInstruments
from mastwatch.sinks.span_event import SpanEventSink
from mastwatch.sinks.verdicts import JudgeFindings, VerdictEvents
from mastwatch.spans.content import ContentPolicy
from mastwatch.spans.evaluation import EvaluationLog
from mastwatch.store import Evidence, Report, Usage, Verdict


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_counts_from_0() -> None:
    registry = CollectorRegistry()
    metrics = JudgeMetrics(PrometheusInstruments(registry))
    metrics.on_report(REPORT, TRACE)
    name, labels = "mastwatch_judge_verdicts_total", {"mode": "FM-1.3", "verdict": "present"}
    child = os.fork()
    if not child:
        began = registry.get_sample_value(name, labels)
        metrics.on_report(REPORT, TRACE)
        os._exit(10 * int(began) + int(registry.get_sample_value(name, labels)))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    assert registry.get_sample_value(name, labels) == 1.0
    metrics.close()


TRACE = trace(trace_id="0af7651916cd43dd8448eb211c80319c", span_id="b7ad6b7169203331")
WHY = "The clerk announces one search twice."


def verdict(slug: str, mode: str, word: Any, **more: Any) -> Verdict:
    return Verdict(slug=slug, mode=mode, verdict=word, **more)


REPORT = Report(
    run_id="run-1",
    verdicts={
        v.slug: v
        for v in (
            verdict(
                "step_repetition",
                "FM-1.3",
                "present",
                confidence=0.9,
                why=WHY,
                evidence=(
                    Evidence(message_index=1, quote=LOOP),
                    Evidence(message_index=3, quote=LOOP),
                ),
            ),
            verdict(
                "information_withholding",
                "FM-2.4",
                "present",
                evidence=(
                    Evidence(message_index=2, quote="Nothing there yet"),
                    Evidence(message_index=3, quote=LOOP),
                ),
            ),
            verdict("task_derailment", "FM-2.3", "absent", why=WHY),
            verdict("premature_termination", "FM-3.1", "unsure", reason="not_at_end"),
            verdict("conversation_reset", "FM-2.1", "not_evaluated", reason="timeout"),
            verdict(
                "rude_tone",
                "OWN-1",
                "present",
                evidence=(Evidence(message_index=4, quote="I give up."),),
            ),
        )
    },
    task_completed="no",
    model="judge-1",
    prompt_version="1",
    taxonomy_version="mast14",
    evidence_counts={"verified": 4, "repaired": 1, "rejected": 2},
    usage=Usage(calls=2, input_tokens=900, output_tokens=80, usd=0.25, seconds=3.0),
)


# Metrics.


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


def value(registry: CollectorRegistry, name: str, **labels: str) -> float | None:
    return registry.get_sample_value(f"mastwatch_judge_{name}", labels)


def test_a_report_is_counted(registry) -> None:
    metrics = JudgeMetrics(PrometheusInstruments(registry))
    metrics.on_report(REPORT, TRACE)
    metrics.on_queue(7)
    assert value(registry, "verdicts_total", mode="FM-1.3", verdict="present") == 1
    assert value(registry, "verdicts_total", mode="OWN-1", verdict="present") == 1
    assert value(registry, "verdicts_total", mode="FM-2.1", verdict="not_evaluated") == 1
    assert value(registry, "not_evaluated_total", reason="timeout") == 1
    assert value(registry, "task_completed_total", verdict="no") == 1
    assert value(registry, "tokens_total", type="input") == 900
    assert value(registry, "tokens_total", type="output") == 80
    assert value(registry, "cost_usd_total") == 0.25
    assert value(registry, "evidence_total", status="rejected") == 2
    assert value(registry, "seconds_sum") == 3.0
    assert value(registry, "queue_depth") == 7


def test_what_is_spent_on_a_run_that_is_put_off_is_counted_and_nothing_else(registry) -> None:
    metrics = JudgeMetrics(PrometheusInstruments(registry))
    metrics.on_put_off(REPORT)
    assert value(registry, "tokens_total", type="input") == 900
    assert value(registry, "cost_usd_total") == 0.25
    assert value(registry, "verdicts_total", mode="FM-1.3", verdict="present") == 0
    assert value(registry, "seconds_count") == 0


def test_children_of_bounded_labels_exist_from_the_start(registry) -> None:
    JudgeMetrics(PrometheusInstruments(registry))
    for mode in ("FM-1.1", "FM-3.3"):
        for word in ("present", "absent", "unsure", "not_evaluated"):
            assert value(registry, "verdicts_total", mode=mode, verdict=word) == 0
    assert value(registry, "not_evaluated_total", reason="budget") == 0
    assert value(registry, "task_completed_total", verdict="not_evaluated") == 0
    assert value(registry, "evidence_total", status="repaired") == 0
    assert value(registry, "tokens_total", type="output") == 0


def test_agreement_is_that_of_the_calibration_on_the_report(registry) -> None:
    calibration = Calibration(
        taxonomy_version="mast14",
        prompt_version="1",
        model="judge-1",
        date="2026-11-21",
        runs=40,
        modes={"step_repetition": {"kappa": 0.7}, "task_derailment": {"n": 3}},
    )
    metrics = JudgeMetrics(
        PrometheusInstruments(registry), Calibrations({calibration.digest: calibration})
    )
    metrics.on_report(REPORT, TRACE)
    assert value(registry, "agreement_kappa", mode="FM-1.3") is None  # not stamped: not in use
    metrics.on_report(replace(REPORT, calibration=calibration.stamp), TRACE)
    assert value(registry, "agreement_kappa", mode="FM-1.3") == 0.7
    assert value(registry, "agreement_kappa", mode="FM-2.3") is None
    metrics.on_report(REPORT, TRACE)
    assert math.isnan(value(registry, "agreement_kappa", mode="FM-1.3"))


def test_a_closed_sink_leaves_nothing_behind(registry) -> None:
    JudgeMetrics(PrometheusInstruments(registry)).close()
    assert list(registry.collect()) == []
    JudgeMetrics(PrometheusInstruments(registry))


# Evaluation events.


def written(capture: bool = False) -> dict[str, Any]:
    exporter = InMemoryLogRecordExporter()
    provider = LoggerProvider()
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    log = EvaluationLog(lambda: provider.get_logger("test"))
    VerdictEvents(log, ContentPolicy(capture)).on_report(REPORT, TRACE)
    records = [data.log_record for data in exporter.get_finished_logs()]
    return {record.attributes["mastwatch.judge.slug"]: record for record in records}


def test_each_mode_is_one_event_on_the_run_s_root_span() -> None:
    records = written()
    assert set(records) == set(REPORT.verdicts)
    for record in records.values():
        assert record.event_name == "gen_ai.evaluation.result"
        assert f"{record.trace_id:032x}" == TRACE.trace_id
        assert f"{record.span_id:016x}" == TRACE.span_id
    said = {
        slug: (
            record.attributes["gen_ai.evaluation.name"],
            record.attributes.get("gen_ai.evaluation.score.label"),
            record.attributes.get("gen_ai.evaluation.score.value"),
            record.attributes.get("error.type"),
            record.severity_text,
        )
        for slug, record in records.items()
    }
    assert said["step_repetition"] == ("MAST.FM-1.3", "detected", 1.0, None, "INFO")
    assert said["task_derailment"] == ("MAST.FM-2.3", "not_detected", 0.0, None, "INFO")
    assert said["premature_termination"] == ("MAST.FM-3.1", "unsure", 0.5, None, "INFO")
    assert said["conversation_reset"] == ("MAST.FM-2.1", None, None, "timeout", "WARN")
    attributes = records["step_repetition"].attributes
    assert attributes["mastwatch.judge.taxonomy_version"] == "mast14"
    assert attributes["mastwatch.judge.evidence"] == (1, 3)
    assert attributes["mastwatch.judge.confidence"] == 0.9
    assert attributes["mastwatch.run.id"] == "run-1"


def test_words_of_the_run_are_exported_with_content_capture_only() -> None:
    told = "".join(str(dict(record.attributes)) for record in written().values())
    assert not [n for n in range(len(LOOP) - 12) if LOOP[n : n + 12] in told]
    assert WHY not in told
    attributes = written(capture=True)["step_repetition"].attributes
    assert attributes["gen_ai.evaluation.explanation"] == WHY
    assert attributes["mastwatch.judge.quotes"] == (LOOP, LOOP)


def test_a_run_without_a_span_is_told_of_all_the_same() -> None:
    exporter = InMemoryLogRecordExporter()
    provider = LoggerProvider()
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    VerdictEvents(EvaluationLog(lambda: provider.get_logger("test")), ContentPolicy()).on_report(
        REPORT, trace()
    )
    assert len(exporter.get_finished_logs()) == len(REPORT.verdicts)


# Findings.


def test_a_judge_s_finding_is_no_second_event_on_a_span() -> None:
    nobody: Any = None  # would fail if it were asked
    SpanEventSink(nobody, nobody).on_finding(findings(REPORT, TRACE)[0])


def test_present_becomes_a_finding_and_fatal_modes_an_alert() -> None:
    told: list[Finding] = []
    JudgeFindings(told.append).on_report(REPORT, TRACE)
    first, second = told
    assert (first.mode, first.severity, first.source) == ("FM-1.3", Severity.WARN, "judge")
    assert (first.agent, first.message_index, first.evidence) == ("Clerk", 3, (1, 3))
    assert first.framework == "autogen"
    assert (second.mode, second.severity, second.agent) == ("FM-2.4", Severity.ALERT, "")
    assert LOOP[:12] not in first.explanation
    again = findings(REPORT, trace(2, run_id="another"))[0]
    assert again.fingerprint == first.fingerprint


def test_every_reason_is_said_in_words_in_reports() -> None:
    assert set(REASONS) <= set(wording.REASONS)
