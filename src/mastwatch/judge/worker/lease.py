"""A job is kept for as long as its run is being worked on."""

from __future__ import annotations

import asyncio

from mastwatch.guard import report as report_error
from mastwatch.judge.worker.duty import Duty, Result
from mastwatch.store import Job, Store, StoreError, Trace


async def done(store: Store, duty: Duty, job: Job, trace: Trace, seconds: float) -> Result | None:
    """Have a job done, and renew its loan meanwhile.

    Args:
        store: Lends the job.
        duty: Does it.
        job: The job.
        trace: Its run.
        seconds: For how long it is lent each time.

    Returns:
        The result; None when the job went to somebody else.
    """
    doing = asyncio.create_task(_do(duty, job, trace))
    try:
        while True:
            ended, _ = await asyncio.wait({doing}, timeout=seconds / 3)
            if ended:
                return doing.result()
            if await asyncio.to_thread(_lost, store, job, seconds):
                return None
    except Exception as error:  # ours, not the model's: the duty answers for that itself
        report_error(f"{job.kind}.worker", error)
        return duty.undone(job, trace, "internal_error")
    finally:
        doing.cancel()


async def _do(duty: Duty, job: Job, trace: Trace) -> Result:
    return await duty.do(job, trace)


def _lost(store: Store, job: Job, seconds: float) -> bool:
    try:
        return store.renew(job, seconds) is None
    except StoreError:  # it may work the next time, and until then the job may still be ours
        return False
