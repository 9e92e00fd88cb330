"""A report for a run that could not be judged at all: every mode ``not_evaluated``, and why."""

from __future__ import annotations

import time

from mastwatch.judge import vote
from mastwatch.judge.modes import Taxonomy
from mastwatch.store import Report, Trace


def unjudged(
    trace: Trace, taxonomy: Taxonomy, reason: str, *, trigger: str = "asked", problem: str = ""
) -> Report:
    """Make it.

    Args:
        trace: The run.
        taxonomy: The modes that were to be judged.
        reason: As in ``Verdict.reason``.
        trigger: As in ``Report``.
        problem: One sentence on what went wrong; no text of the run.
    """
    return Report(
        run_id=trace.run_id,
        verdicts={mode.slug: vote.not_evaluated(mode, reason) for mode in taxonomy.modes},
        taxonomy_version=taxonomy.version,
        trigger=trigger,
        created=time.time(),
        problems=(problem,) if problem else (),
    )
