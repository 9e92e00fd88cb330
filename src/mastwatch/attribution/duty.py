"""Attribution as a worker's duty, and which runs it is for."""

from __future__ import annotations

import time
from typing import Any

from mastwatch.attribution.attributor import Attributor
from mastwatch.judge.assembly import make_judge
from mastwatch.judge.calibrate import Calibrations
from mastwatch.judge.settings import JudgeSettings
from mastwatch.judge.triggers import FAILED
from mastwatch.judge.worker import Duty, JudgeDuty, Listener
from mastwatch.judge.worker.duty import Result
from mastwatch.store import Attribution, Job, JobKind, Report, Store, Trace


class AttributeDuty:
    """Attributing.

    Args:
        attributor: Attributes.
        store: Knows the judge's report.
    """

    kind: JobKind = "attribute"

    def __init__(self, attributor: Attributor, store: Store) -> None:
        self._attributor = attributor
        self._store = store

    async def do(self, job: Job, trace: Trace) -> Attribution:
        """Attribute a run."""
        report = self._store.report(job.run_id)
        return await self._attributor.attribute(trace, report, job.trigger)

    def undone(self, job: Job, trace: Trace, reason: str) -> Attribution:
        """An attribution that says why there is none."""
        return Attribution(
            run_id=trace.run_id,
            method=self._attributor.settings.method,
            result="not_evaluated",
            reason=reason,
            trigger=job.trigger,
            created=time.time(),
        )

    def tell(self, listener: Listener, result: Result, trace: Trace) -> None:
        """Tell of an attribution."""
        if isinstance(result, Attribution):
            listener.on_attribution(result, trace)

    def then(self, result: Result, trace: Trace) -> JobKind | None:
        """Nothing follows."""
        return None

    async def close(self) -> None:
        """Nothing to do: the model is the judge's."""


def failed(trace: Trace, report: Report) -> bool:
    """Whether a judged run is one to attribute: the host, its end or the judge says it failed."""
    if trace.success is not None:
        return not trace.success
    return trace.outcome in FAILED or report.task_completed == "no"


def make_duties(
    model: Any, settings: JudgeSettings, store: Store, calibrations: Calibrations | None = None
) -> list[Duty]:
    """What a worker does: judge, and attribute where that is wanted.

    Raises:
        ValueError, TypeError: As ``make_judge``.
    """
    judge = make_judge(model, settings, store, calibrations)
    if not settings.attribution.enabled:
        return [JudgeDuty(judge)]
    attributor = Attributor(judge.access, settings.attribution)
    return [JudgeDuty(judge, failed), AttributeDuty(attributor, store)]
