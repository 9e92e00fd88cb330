"""Findings and verdicts as ``gen_ai.evaluation.result`` log events, parented to their span."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from opentelemetry import trace
from opentelemetry._logs import Logger, LogRecord, SeverityNumber

from mastwatch.findings import Finding, Severity
from mastwatch.spans import semconv

_SEVERITY = {
    Severity.INFO: SeverityNumber.INFO,
    Severity.SUSPECT: SeverityNumber.INFO,
    Severity.WARN: SeverityNumber.WARN,
    Severity.ALERT: SeverityNumber.ERROR,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What somebody says of a span in one respect.

    Attributes:
        name: The respect, ``MAST.FM-1.3``.
        score: 0 to 1; None where there is none.
        label: The score in a word; empty where there is none.
        explanation: Left out when empty.
        error: Why it could not be evaluated; empty when it could.
        attributes: What else is said.
    """

    name: str
    score: float | None = None
    label: str = ""
    explanation: str = ""
    error: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)


class EvaluationLog:
    """Writes evaluation events through an OpenTelemetry logger.

    Args:
        logger: Gives the logger at each write, so that a provider set late is used too.
    """

    def __init__(self, logger: Callable[[], Logger]) -> None:
        self._logger = logger

    def write(self, finding: Finding, context: trace.SpanContext) -> None:
        """Write one finding.

        Args:
            finding: What was found.
            context: The span it speaks of.
        """
        attributes: dict[str, Any] = {
            semconv.EVALUATION_NAME: f"MAST.{finding.mode}",
            semconv.EVALUATION_SCORE: finding.severity.score,
            semconv.EVALUATION_LABEL: "detected",
            semconv.EVALUATION_EXPLANATION: finding.explanation,
            semconv.RUN_ID: finding.run_id,
            semconv.AGENT_NAME: finding.agent,
            semconv.FINDING_PREFIX + "severity": finding.severity.label,
            semconv.FINDING_PREFIX + "message_index": finding.message_index,
            semconv.FINDING_PREFIX + "evidence": finding.evidence,
            semconv.FINDING_PREFIX + "fingerprint": finding.fingerprint,
            semconv.FINDING_PREFIX + "episode": finding.episode,
        }
        self._emit(attributes, context, _SEVERITY[finding.severity], finding.severity.label.upper())

    def write_evaluation(self, evaluation: Evaluation, trace_id: str, span_id: str) -> None:
        """Write what is said of a span that may have ended long ago.

        Args:
            evaluation: What is said.
            trace_id: 32 hexadecimal digits; empty when unknown.
            span_id: 16 hexadecimal digits.
        """
        said = {
            semconv.EVALUATION_NAME: evaluation.name,
            semconv.EVALUATION_SCORE: evaluation.score,
            semconv.EVALUATION_LABEL: evaluation.label or None,
            semconv.EVALUATION_EXPLANATION: evaluation.explanation or None,
            semconv.ERROR_TYPE: evaluation.error or None,
            **evaluation.attributes,
        }
        failed = bool(evaluation.error)
        severity = SeverityNumber.WARN if failed else SeverityNumber.INFO
        attributes = {key: value for key, value in said.items() if value is not None}
        context = _context(trace_id, span_id)
        self._emit(attributes, context, severity, "WARN" if failed else "INFO")

    def _emit(
        self,
        attributes: dict[str, Any],
        context: trace.SpanContext,
        severity: SeverityNumber,
        text: str,
    ) -> None:
        span = trace.NonRecordingSpan(context)
        self._logger().emit(
            LogRecord(
                timestamp=time.time_ns(),
                context=trace.set_span_in_context(span),
                severity_number=severity,
                severity_text=text,
                attributes=attributes,
                event_name=semconv.EVALUATION_EVENT,
            )
        )


def _context(trace_id: str, span_id: str) -> trace.SpanContext:
    try:
        ids = int(trace_id, 16), int(span_id, 16)
    except ValueError:
        return trace.INVALID_SPAN_CONTEXT
    # As sampled: it was, or nobody has the trace that this points to.
    return trace.SpanContext(*ids, is_remote=True, trace_flags=trace.TraceFlags(0x01))
