"""Which finished runs are judged by themselves, and why."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import Literal, get_args

from mastwatch.events import Outcome
from mastwatch.findings import Severity
from mastwatch.judge.settings import JudgeSettings
from mastwatch.store import Trace

Trigger = Literal["outcome", "finding", "sample"]
TRIGGERS: tuple[Trigger, ...] = get_args(Trigger)
"""In the order they are asked: the first that applies is the reason that stands in the report."""
FAILED: frozenset[Outcome] = frozenset({"error", "limit"})
"""Ends of a run that count as failed, unless the host says that it succeeded."""


def trigger(trace: Trace, settings: JudgeSettings) -> Trigger | None:
    """Why a finished run is to be judged, or None.

    The same run gives the same answer, so it may be asked again when the host reports an outcome
    late.

    Args:
        trace: The run.
        settings: Which triggers count, from which severity, and how many of the healthy runs.

    >>> trigger(Trace(run_id="a", success=False), JudgeSettings())
    'outcome'
    >>> trigger(Trace(run_id="a", outcome="completed"), JudgeSettings(sample=0.0)) is None
    True
    """
    if trace.outcome == "paused":  # it waits for a person and is not finished
        return None
    return next(
        (way for way in TRIGGERS if way in settings.triggers and _ASK[way](trace, settings)), None
    )


def sampled(run_id: str, share: float) -> bool:
    """Whether a run is in the sample: by its id, so that every process says the same of it."""
    digest = blake2b(run_id.encode("utf-8", "backslashreplace"), digest_size=8).digest()
    return int.from_bytes(digest, "big") < share * 2**64


def _failed(trace: Trace, settings: JudgeSettings) -> bool:
    return trace.outcome in FAILED if trace.success is None else not trace.success


def _found(trace: Trace, settings: JudgeSettings) -> bool:
    least = Severity.parse(settings.severity)
    return any(finding.severity >= least for finding in trace.findings)


def _sampled(trace: Trace, settings: JudgeSettings) -> bool:
    return sampled(trace.run_id, settings.sample)


_ASK: dict[Trigger, Callable[[Trace, JudgeSettings], bool]] = {
    "outcome": _failed,
    "finding": _found,
    "sample": _sampled,
}
