"""What a worker can do with a finished run: judge it, attribute it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from mastwatch.judge.judge import Judge
from mastwatch.judge.unjudged import unjudged
from mastwatch.judge.worker.listener import Listener
from mastwatch.store import Attribution, Job, JobKind, Report, Trace

Result: TypeAlias = Report | Attribution


class Duty(Protocol):
    """One kind of work. All kinds share the queue, the leases and the limits."""

    @property
    def kind(self) -> JobKind:
        """Whose jobs it takes."""

    async def do(self, job: Job, trace: Trace) -> Result:
        """Do it; whatever a model does, there is a result."""

    def undone(self, job: Job, trace: Trace, reason: str) -> Result:
        """The result where it could not be done at all."""

    def tell(self, listener: Listener, result: Result, trace: Trace) -> None:
        """Tell of a result."""

    def then(self, result: Result, trace: Trace) -> JobKind | None:
        """The kind of work that follows."""

    async def close(self) -> None:
        """Let go of connections."""


class JudgeDuty:
    """Judging.

    Args:
        judge: Judges.
        attributes: Whether a judged run is to be attributed next; nothing follows if None.
    """

    kind: JobKind = "judge"

    def __init__(
        self, judge: Judge, attributes: Callable[[Trace, Report], bool] | None = None
    ) -> None:
        self._judge = judge
        self._attributes = attributes

    async def do(self, job: Job, trace: Trace) -> Report:
        """Judge a run."""
        return await self._judge.judge(trace, job.trigger)

    def undone(self, job: Job, trace: Trace, reason: str) -> Report:
        """A report that says of every mode why it was not evaluated."""
        return unjudged(trace, self._judge.taxonomy, reason, trigger=job.trigger)

    def tell(self, listener: Listener, result: Result, trace: Trace) -> None:
        """Tell of a report."""
        if isinstance(result, Report):
            listener.on_report(result, trace)

    def then(self, result: Result, trace: Trace) -> JobKind | None:
        """Attribution, where it is wanted."""
        if self._attributes is None or not isinstance(result, Report):
            return None
        return "attribute" if self._attributes(trace, result) else None

    async def close(self) -> None:
        """Let go of the model's connections."""
        await self._judge.close()
