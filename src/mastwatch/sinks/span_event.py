"""Findings on the trace: the span event ``mastwatch.finding`` and the evaluation log event."""

from __future__ import annotations

from mastwatch.findings import Finding, Notice
from mastwatch.spans.emit import Emitter
from mastwatch.spans.evaluation import EvaluationLog
from mastwatch.watch import Sink


class SpanEventSink(Sink):
    """Writes verdicts on the span where they fired.

    Args:
        emitter: Knows that span.
        evaluations: Where ``gen_ai.evaluation.result`` events go.
    """

    name = "span_event"

    def __init__(self, emitter: Emitter, evaluations: EvaluationLog) -> None:
        self._emitter = emitter
        self._evaluations = evaluations

    def on_finding(self, finding: Finding) -> None:
        """Write a finding on its span, and as an evaluation of that span."""
        if finding.source == "judge":
            return  # the run's spans have ended, and its verdicts are evaluations already
        context = self._emitter.write_verdict(finding)
        self._evaluations.write(finding, context)

    def on_notice(self, notice: Notice) -> None:
        """Write a notice on its span."""
        self._emitter.write_verdict(notice)
