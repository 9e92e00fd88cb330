"""What the summary remembers of one run: a few words and numbers, no text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from mastwatch.store import Report, Trace, Usage, VerdictWord

OutcomeSource = Literal["host", "error", "judge", ""]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One judged run.

    Attributes:
        run_id: The run.
        name: What it is called.
        framework, release: As in ``Trace``.
        agents: Who took part.
        models: Models the agents used.
        judge: Model that judged.
        failed: Whether the run failed; None when nobody knows.
        failed_by: Who says so: the host (``mastwatch.outcome``), an error that ended the run, or
            the judge's word on the task; in this order.
        verdicts: By mode.
        modes: Display form of the modes, by key.
        reasons: Why modes were not evaluated, by mode.
        blamed: Agents in whose messages the evidence of a present mode stands, by mode.
        coverage, usage, task_completed: As in ``Report``.
        at: Unix seconds of the run's end, else of its start, else of the judgement.
        link: Address of the run's page, relative to the summary; empty for none.
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

    @property
    def present(self) -> tuple[str, ...]:
        """Keys of the modes the run shows."""
        return tuple(slug for slug, word in self.verdicts.items() if word == "present")


def case(trace: Trace, report: Report, link: str = "") -> Case:
    """Take from a run what the summary needs.

    Args:
        trace: The run.
        report: What the judge says of it.
        link: Address of its page, relative to the summary's.
    """
    failed, failed_by = _failed(trace, report)
    speaker = {row.index: row.agent for row in trace.rows}
    return Case(
        run_id=trace.run_id,
        name=trace.name or trace.run_id,
        framework=trace.framework,
        release=trace.release,
        agents=trace.agents,
        models=trace.models,
        judge=report.model,
        failed=failed,
        failed_by=failed_by,
        verdicts={v.slug: v.verdict for v in report.verdicts.values()},
        modes={v.slug: v.mode for v in report.verdicts.values()},
        reasons={
            v.slug: v.reason for v in report.verdicts.values() if v.verdict == "not_evaluated"
        },
        blamed={
            v.slug: tuple(dict.fromkeys(speaker.get(e.message_index, "") for e in v.evidence))
            for v in report.present
        },
        coverage=report.coverage,
        usage=report.usage,
        task_completed=report.task_completed,
        at=trace.ended or trace.started or report.created,
        link=link,
    )


def _failed(trace: Trace, report: Report) -> tuple[bool | None, OutcomeSource]:
    if trace.success is not None:
        return not trace.success, "host"
    if trace.error or trace.outcome == "error":
        return True, "error"
    if report.task_completed in ("yes", "no"):
        return report.task_completed == "no", "judge"
    return None, ""
