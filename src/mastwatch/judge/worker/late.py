"""What the host said of a run while it was being worked on."""

from __future__ import annotations

from mastwatch.judge.worker.duty import Duty, Result
from mastwatch.store import Job, Store


def follow_late(store: Store, duty: Duty, job: Job, result: Result) -> None:
    """Have done what follows from a result, by the run as it is known now.

    A worker reads a run and then takes its time. An outcome that the host reports meanwhile finds
    the run's job still there and asks for none: whether something follows from it is decided here,
    once the result is in the store.

    Args:
        store: Knows the run.
        duty: Tells what follows.
        job: What was done.
        result: What came of it.
    """
    trace = store.trace(job.run_id)
    following = duty.then(result, trace) if trace is not None else None
    if following is not None:
        store.enqueue(job.run_id, following, "outcome")
