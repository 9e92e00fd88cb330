"""A judge's report to whoever listens: evaluation log events, and findings to the sinks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mastwatch.findings import Finding
from mastwatch.judge.findings import findings
from mastwatch.judge.worker.listener import Listener
from mastwatch.spans import semconv
from mastwatch.spans.content import ContentPolicy
from mastwatch.spans.evaluation import Evaluation, EvaluationLog
from mastwatch.store import Report, Trace, Verdict

_LABELS = {"present": "detected", "absent": "not_detected", "unsure": "unsure"}
_SCORES = {"present": 1.0, "absent": 0.0, "unsure": 0.5}


class VerdictEvents(Listener):
    """Writes one ``gen_ai.evaluation.result`` per mode, on the run's root span.

    Args:
        log: Where they go.
        content: Whether ``why`` and quotes, which are words of the run, may stand in them.
    """

    name = "verdict_events"

    def __init__(self, log: EvaluationLog, content: ContentPolicy) -> None:
        self._log = log
        self._content = content

    def on_report(self, report: Report, trace: Trace) -> None:
        """Write a report's verdicts."""
        for verdict in report.verdicts.values():
            self._log.write_evaluation(
                self._evaluation(verdict, report), trace.trace_id, trace.span_id
            )

    def _evaluation(self, verdict: Verdict, report: Report) -> Evaluation:
        judged = verdict.verdict != "not_evaluated"
        about: dict[str, Any] = {
            semconv.RUN_ID: report.run_id,
            semconv.JUDGE_SLUG: verdict.slug,
            semconv.JUDGE_TAXONOMY: report.taxonomy_version,
            semconv.JUDGE_PROMPT: report.prompt_version,
            semconv.JUDGE_MODEL: report.model,
            semconv.JUDGE_CALIBRATION: report.calibration,
            semconv.JUDGE_REASON: verdict.reason,
            semconv.JUDGE_EVIDENCE: tuple(item.message_index for item in verdict.evidence),
        }
        if verdict.confidence is not None:
            about[semconv.JUDGE_CONFIDENCE] = verdict.confidence
        if self._content.capture and verdict.evidence:
            quotes = tuple(self._content.clean(item.quote)[0] for item in verdict.evidence)
            about[semconv.JUDGE_QUOTES] = quotes
        return Evaluation(
            name=f"MAST.{verdict.mode}",
            score=_SCORES.get(verdict.verdict),
            label=_LABELS.get(verdict.verdict, ""),
            explanation=self._content.clean(verdict.why)[0] if self._content.capture else "",
            error="" if judged else verdict.reason or "unknown",
            attributes=about,
        )


class JudgeFindings(Listener):
    """Tells the sinks of live findings what a judge found.

    Args:
        tell: Takes a finding to them.
    """

    name = "findings"

    def __init__(self, tell: Callable[[Finding], object]) -> None:
        self._tell = tell

    def on_report(self, report: Report, trace: Trace) -> None:
        """Tell of a report's ``present`` verdicts."""
        for finding in findings(report, trace):
            self._tell(finding)
