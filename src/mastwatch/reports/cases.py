"""What the summary remembers of one run: a few words and numbers, no text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from mastwatch.judge.answers import total
from mastwatch.store import Attribution, Report, Trace, Usage, VerdictWord

OutcomeSource = Literal["host", "error", "judge", ""]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Who decided that a run failed.

    Attributes:
        method, result, step, agent: As in ``Attribution``.
        reason: Why there is no step; empty where there is one.
        modes: Keys of the modes that show in the step.
    """

    method: str
    result: str
    step: int | None
    agent: str
    reason: str
    modes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One run that was judged, attributed, or both.

    Attributes:
        run_id: The run.
        name: What it is called.
        framework, release: As in ``Trace``.
        agents: Who took part.
        models: Models the agents used.
        judge: Model that judged; empty where none did.
        failed: Whether the run failed; None when nobody knows.
        failed_by: Who says so: the host (``mastwatch.outcome``), an error that ended the run, or
            the judge's word on the task; in this order.
        verdicts: By mode.
        modes: Display form of the modes, by key.
        reasons: Why modes were not evaluated, by mode.
        blamed: Agents in whose messages the evidence of a present mode stands, by mode.
        coverage, task_completed: As in ``Report``.
        usage: What judging and attributing took together.
        at: Unix seconds of the run's end, else of its start, else of the judgement.
        link: Address of the run's page, relative to the summary; empty for none.
        decision: Who decided that it failed; None where that was not asked.
    """

    run_id: str
    name: str
    framework: str
    release: str
    agents: tuple[str, ...]
    models: tuple[str, ...]
    judge: str
    failed: bool | None
    failed_by: OutcomeSource
    verdicts: Mapping[str, VerdictWord]
    modes: Mapping[str, str]
    reasons: Mapping[str, str]
    blamed: Mapping[str, tuple[str, ...]]
    coverage: float
    usage: Usage
    task_completed: str
    at: float
    link: str = ""
    decision: Decision | None = None

    @property
    def present(self) -> tuple[str, ...]:
        """Keys of the modes the run shows."""
        return tuple(slug for slug, word in self.verdicts.items() if word == "present")


def case(
    trace: Trace, report: Report | None, link: str = "", attribution: Attribution | None = None
) -> Case:
    """Take from a run what the summary needs.

    Args:
        trace: The run.
        report: What the judge says of it, if it was judged.
        link: Address of its page, relative to the summary's.
        attribution: Who decided that it failed, if that was asked.
    """
    told = report or Report(run_id=trace.run_id, verdicts={})
    failed, failed_by = _failed(trace, told)
    verdicts = told.verdicts.values()
    return Case(
        run_id=trace.run_id,
        name=trace.name or trace.run_id,
        framework=trace.framework,
        release=trace.release,
        agents=trace.agents,
        models=trace.models,
        judge=told.model,
        failed=failed,
        failed_by=failed_by,
        verdicts={v.slug: v.verdict for v in verdicts},
        modes={v.slug: v.mode for v in verdicts},
        reasons={v.slug: v.reason for v in verdicts if v.verdict == "not_evaluated"},
        blamed=_blamed(trace, told),
        coverage=told.coverage,
        usage=total([each.usage for each in (report, attribution) if each is not None]),
        task_completed=told.task_completed,
        at=_at(trace, told, attribution),
        link=link,
        decision=_decision(attribution),
    )


def _blamed(trace: Trace, report: Report) -> dict[str, tuple[str, ...]]:
    speaker = {row.index: row.agent for row in trace.rows}
    return {
        v.slug: tuple(dict.fromkeys(speaker.get(e.message_index, "") for e in v.evidence))
        for v in report.present
    }


def _at(trace: Trace, report: Report, attribution: Attribution | None) -> float:
    said = report.created or (attribution.created if attribution is not None else 0.0)
    return trace.ended or trace.started or said


def _decision(found: Attribution | None) -> Decision | None:
    if found is None:
        return None
    return Decision(
        method=found.method,
        result=found.result,
        step=found.step,
        agent=found.agent,
        reason=found.reason if found.step is None else "",
        modes=found.modes,
    )


def _failed(trace: Trace, report: Report) -> tuple[bool | None, OutcomeSource]:
    if trace.success is not None:
        return not trace.success, "host"
    if trace.error or trace.outcome == "error":
        return True, "error"
    if report.task_completed in ("yes", "no"):
        return report.task_completed == "no", "judge"
    return None, ""
