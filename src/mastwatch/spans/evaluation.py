"""Findings as ``gen_ai.evaluation.result`` log events, parented to the span they speak of."""

from __future__ import annotations

import time
from collections.abc import Callable
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
        span = trace.NonRecordingSpan(context)
        self._logger().emit(
            LogRecord(
                timestamp=time.time_ns(),
                context=trace.set_span_in_context(span),
                severity_number=_SEVERITY[finding.severity],
                severity_text=finding.severity.label.upper(),
                attributes=attributes,
                event_name=semconv.EVALUATION_EVENT,
            )
        )
