"""What a store must be able to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from mastwatch.events import Outcome
from mastwatch.store.attribution import Attribution
from mastwatch.store.report import Report
from mastwatch.store.trace import Trace

JobKind = Literal["judge", "attribute"]


class StoreError(Exception):
    """The store cannot be used; the message says where it is, what is wrong and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A finished run to be judged, lent to one worker until ``until``.

    Attributes:
        run_id: The run.
        kind: What is to be done.
        trigger: Why: ``outcome``, ``finding``, ``sample``, ``asked``.
        attempt: 1 for the first time it is lent.
        failed: How often it was given back as failed.
        lost: How often a loan ran out: the worker died, or its machine slept.
        owner: The worker that holds it.
        until: Unix seconds; then anybody may take it, and once somebody has, this worker may no
            longer answer.
    """

    run_id: str
    kind: JobKind
    trigger: str
    attempt: int
    failed: int = 0
    lost: int = 0
    owner: str
    until: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What may be spent in a day (UTC) by all processes on one store; None is no limit."""

    calls: int | None = None
    tokens: int | None = None
    usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spend:
    """What was spent, or is set aside for a call that has not come back."""

    calls: int = 0
    tokens: int = 0
    usd: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """Which runs are meant; everything given must hold.

    Attributes:
        run_id: This run alone.
        framework, release, environment, conversation_id, user_id, outcome, success: As in
            ``Trace``.
        since, until: Unix seconds, the latter exclusive; of the run's end, where that is unknown of
            its start, where that is too of the time it was stored.
        judged: Whether there is a judge's report.
        attributed: Whether there is an attribution.
        limit: At most so many, newest first.
    """

    run_id: str | None = None
    framework: str | None = None
    release: str | None = None
    environment: str | None = None
    conversation_id: str | None = None
    user_id: str | None = None
    outcome: Outcome | None = None
    success: bool | None = None
    since: float | None = None
    until: float | None = None
    judged: bool | None = None
    attributed: bool | None = None
    limit: int | None = None


ANY_RUN = RunFilter()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """What a store tells of a run without unpacking it.

    Attributes:
        run_id, framework, release, environment, conversation_id, user_id, outcome, success: As in
            ``Trace``.
        started, ended: Unix seconds; None in logs without times.
        size: Bytes it takes in the store.
        judged: Whether there is a judge's report.
        attributed: Whether there is an attribution.
    """

    run_id: str
    framework: str
    release: str
    environment: str
    conversation_id: str | None
    user_id: str | None
    started: float | None
    ended: float | None
    outcome: Outcome
    success: bool | None
    size: int
    judged: bool
    attributed: bool


class Store(Protocol):
    """Keeps traces, reports and jobs. Safe from several threads and processes at once.

    Every method raises ``StoreError`` when the store cannot be used.
    """

    def add(self, trace: Trace, *, job: JobKind | None = None, trigger: str = "") -> None:
        """Keep a finished run, and its job, both or neither; they survive a crash after this.

        A run that is here already is replaced; its job and report stay.
        """

    def update_outcome(
        self,
        run_id: str,
        *,
        success: bool | None = None,
        score: float | None = None,
        expected: str | None = None,
        comment: str | None = None,
    ) -> bool:
        """Note what the host said of a run later; False when the run is not here."""

    def trace(self, run_id: str) -> Trace | None:
        """A run, or None."""

    def runs(self, which: RunFilter = ANY_RUN) -> Iterator[str]:
        """Ids of runs, newest first."""

    def listing(self, which: RunFilter = ANY_RUN) -> Iterator[StoredRun]:
        """What is known of runs, newest first."""

    def delete(self, which: RunFilter) -> int:
        """Forget runs with their reports and jobs; returns how many.

        It is for privacy: all answers of models are forgotten too, and the bytes are overwritten.

        Raises:
            ValueError: The filter has no condition.
        """

    def prune(self) -> int:
        """Forget what is over the bounds of age and size, oldest first; returns how many."""

    def enqueue(self, run_id: str, kind: JobKind, trigger: str) -> bool:
        """Ask for a job; False when there is one already, or a report."""

    def claim(self, kind: JobKind, owner: str, seconds: float) -> Job | None:
        """Borrow the oldest job that is due, or None."""

    def renew(self, job: Job, seconds: float) -> Job | None:
        """Borrow it longer; None when it was lent to somebody else meanwhile."""

    def finish(
        self, job: Job, result: Report | Attribution, *, then: JobKind | None = None
    ) -> bool:
        """Give the result and end the job, both or neither; False when it is no longer ours.

        Args:
            job: It.
            result: Its result.
            then: A job on the same run that follows, begun together with the end of this one.
        """

    def postpone(self, job: Job, seconds: float, reason: str, *, failed: bool = False) -> None:
        """Give a job back, to be taken again in so many seconds.

        Args:
            job: It.
            seconds: Until then.
            reason: Why.
            failed: Count it in ``Job.failed``.
        """

    def queue(self, kind: JobKind) -> Mapping[str, int]:
        """How many jobs there are: ``waiting``, ``running``, ``done``."""

    def report(self, run_id: str) -> Report | None:
        """The judge's report of a run, or None."""

    def attribution(self, run_id: str) -> Attribution | None:
        """The attribution of a run, or None."""

    def put(self, result: Report | Attribution) -> None:
        """Keep a result that no job asked for; replaces an older one."""

    def reserve(self, spend: Spend, limits: Limits) -> str:
        """Set aside what a call may cost at most.

        Returns:
            The day it counts for, to be given to ``settle``; empty when it would pass a limit.
        """

    def settle(self, reserved: Spend, spent: Spend, day: str = "") -> None:
        """Put what a call did cost in place of what was set aside for it.

        What is never settled, because its process died, counts as spent.

        Args:
            reserved: As given to ``reserve``.
            spent: What it did cost; nothing, when the call was not made.
            day: As ``reserve`` returned it; today by default.
        """

    def spent(self) -> Spend:
        """Spent and set aside today."""

    def cached(self, key: str) -> str | None:
        """A model's earlier answer to the same question, or None."""

    def cache(self, key: str, reply: str) -> None:
        """Keep a model's answer."""

    def close(self) -> None:
        """Let go of the file."""
