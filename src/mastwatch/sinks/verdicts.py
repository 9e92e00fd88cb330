"""Reports and attributions to whoever listens: evaluation log events, findings to the sinks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mastwatch.findings import Finding
from mastwatch.judge.findings import findings
from mastwatch.judge.worker.listener import Listener
from mastwatch.spans import semconv
from mastwatch.spans.content import ContentPolicy
from mastwatch.spans.evaluation import Evaluation, EvaluationLog
from mastwatch.store import Attribution, Evidence, Report, Trace, Verdict

_LABELS = {"present": "detected", "absent": "not_detected", "unsure": "unsure"}
_SCORES = {"present": 1.0, "absent": 0.0, "unsure": 0.5}
ATTRIBUTION = "attribution"
"""Name of the evaluation that says which step decided a run."""


class VerdictEvents(Listener):
    """Writes one ``gen_ai.evaluation.result`` per mode and attribution, on the run's root span.

    Args:
        log: Where they go.
        content: Whether explanations and quotes, which are words of the run, may stand in them.
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

    def on_attribution(self, attribution: Attribution, trace: Trace) -> None:
        """Write an attribution."""
        said = self._attributed(attribution, trace)
        self._log.write_evaluation(said, trace.trace_id, trace.span_id)

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
            about[semconv.JUDGE_QUOTES] = self._quotes(verdict.evidence)
        return Evaluation(
            name=f"MAST.{verdict.mode}",
            score=_SCORES.get(verdict.verdict),
            label=_LABELS.get(verdict.verdict, ""),
            explanation=self._words(verdict.why),
            error="" if judged else verdict.reason or "unknown",
            attributes=about,
        )

    def _attributed(self, found: Attribution, trace: Trace) -> Evaluation:
        asked = found.result != "not_evaluated"
        about = _about(found, trace)
        if self._content.capture and found.evidence:
            about[semconv.ATTRIBUTION_QUOTES] = self._quotes(found.evidence)
        if self._content.capture and found.counterfactual:
            about[semconv.ATTRIBUTION_COUNTERFACTUAL] = self._words(found.counterfactual)
        return Evaluation(
            name=ATTRIBUTION,
            label=found.result if asked else "",
            explanation=self._words(found.reason) if found.step is not None else "",
            error="" if asked else found.reason or "unknown",
            attributes=about,
        )

    def _words(self, text: str) -> str:
        return self._content.clean(text)[0] if self._content.capture else ""

    def _quotes(self, evidence: Sequence[Evidence]) -> tuple[str, ...]:
        return tuple(self._content.clean(item.quote)[0] for item in evidence)


def _about(found: Attribution, trace: Trace) -> dict[str, Any]:
    """What is known of an attribution that is no text of the run."""
    about: dict[str, Any] = {
        semconv.RUN_ID: found.run_id,
        semconv.ATTRIBUTION_RESULT: found.result,
        semconv.ATTRIBUTION_METHOD: found.method,
        semconv.ATTRIBUTION_MODEL: found.model,
        semconv.ATTRIBUTION_PROMPT: found.prompt_version,
        semconv.ATTRIBUTION_MODES: found.modes,
        semconv.ATTRIBUTION_CANDIDATES: tuple(each.step for each in found.candidates),
        semconv.ATTRIBUTION_EVIDENCE: tuple(item.message_index for item in found.evidence),
        semconv.ATTRIBUTION_GROUND_TRUTH: found.ground_truth,
    }
    if found.step is None:  # with a step the reason is the model's words
        return {**about, semconv.ATTRIBUTION_REASON: found.reason}
    spans = (row.span_id for row in trace.rows if row.index == found.step)
    about[semconv.ATTRIBUTION_STEP] = found.step
    about[semconv.ATTRIBUTION_AGENT] = found.agent
    about[semconv.ATTRIBUTION_SPAN] = next(spans, "")
    return about


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
