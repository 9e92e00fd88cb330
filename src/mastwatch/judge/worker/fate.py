"""What becomes of a run that a model or its server left without a result, or with half of one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from mastwatch.judge.budget import DAY_NOT_COUNTED, DAY_REACHED
from mastwatch.store import Attribution, Report

MAX_ATTEMPTS = 8
"""How often a run is tried whose calls time out or fail: it may be the run that is at fault."""
MAX_LOST = 5
"""How often a run is lent to a worker that dies over it."""
_FIRST_RETRY, _LONGEST_RETRY = 30.0, 3_600.0
_SERVER_FIRST, _SERVER_LONGEST = 5.0, 300.0
_KEY_FIRST, _KEY_LONGEST = 60.0, 900.0


@dataclass(frozen=True, slots=True)
class Fate:
    """Try a run again later.

    Attributes:
        reason: Why, one of the ``not_evaluated`` reasons.
        seconds: Until then.
        pause: Whether the other runs wait too: they would fare no better.
    """

    reason: str
    seconds: float
    pause: bool = False


def fate(result: Report | Attribution, failed: int, troubles: int, now: float) -> Fate | None:
    """Decide on a result; None when it is final.

    What no run can help (no server, a refused key, a busy server, the day's limit) costs a run
    nothing: it waits, however long that takes. What may be the run's own fault ends after
    ``MAX_ATTEMPTS`` in verdicts that say ``not_evaluated`` and why.

    Args:
        result: A judge's report or an attribution.
        failed: How often before the run failed in a way that may be its own fault.
        troubles: How often in a row a server's trouble has stopped all runs.
        now: Unix seconds.
    """
    reasons = _reasons(result)
    if "auth" in reasons:
        return Fate("auth", _doubled(_KEY_FIRST, troubles, _KEY_LONGEST), pause=True)
    for reason in ("unreachable", "rate_limited"):
        if reason in reasons:
            return Fate(reason, _doubled(_SERVER_FIRST, troubles, _SERVER_LONGEST), pause=True)
    if "budget" in reasons and DAY_REACHED in result.problems:
        return Fate("budget", until_tomorrow(now), pause=True)
    if "budget" in reasons and DAY_NOT_COUNTED in result.problems:
        return Fate("store", _doubled(_SERVER_FIRST, troubles, _SERVER_LONGEST), pause=True)
    for reason in ("timeout", "provider_error", "internal_error", "unreadable"):
        if reason in reasons and failed + 1 < MAX_ATTEMPTS:
            return Fate(reason, _doubled(_FIRST_RETRY, failed, _LONGEST_RETRY))
    return None


def _reasons(result: Report | Attribution) -> set[str]:
    """Why something is ``not_evaluated``."""
    if isinstance(result, Report):
        return {v.reason for v in result.verdicts.values() if v.verdict == "not_evaluated"}
    return {result.reason} if result.result == "not_evaluated" else set()


def until_tomorrow(now: float) -> float:
    """Seconds to the next day, UTC.

    >>> until_tomorrow(86_400 * 3 - 60.0)
    60.0
    """
    today = datetime.fromtimestamp(now, timezone.utc)
    midnight = today.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    return midnight.timestamp() - now


def _doubled(first: float, times: int, longest: float) -> float:
    return float(min(longest, first * 2.0 ** min(times, 20)))
