"""A job is kept for as long as its run is being judged."""

from __future__ import annotations

import asyncio

from mastwatch.guard import report as report_error
from mastwatch.judge.judge import Judge
from mastwatch.judge.unjudged import unjudged
from mastwatch.store import Job, Report, Store, StoreError, Trace


async def judged(
    store: Store, judge: Judge, job: Job, trace: Trace, seconds: float
) -> Report | None:
    """Have a run judged, and renew the loan of its job meanwhile.

    Args:
        store: Lends the job.
        judge: Judges.
        job: The job.
        trace: Its run.
        seconds: For how long it is lent each time.

    Returns:
        The report; None when the job went to somebody else.
    """
    judging = asyncio.create_task(judge.judge(trace, job.trigger))
    try:
        while True:
            done, _ = await asyncio.wait({judging}, timeout=seconds / 3)
            if done:
                return judging.result()
            if await asyncio.to_thread(_lost, store, job, seconds):
                return None
    except Exception as error:  # ours, not the model's: the judge answers for that itself
        report_error("judge.judge", error)
        return unjudged(trace, judge.taxonomy, "internal_error", trigger=job.trigger)
    finally:
        judging.cancel()


def _lost(store: Store, job: Job, seconds: float) -> bool:
    try:
        return store.renew(job, seconds) is None
    except StoreError:  # it may work the next time, and until then the job may still be ours
        return False
