"""What can be set when the rules are generated."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TIME = re.compile(r"([1-9]\d*)([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


class BadParameters(ValueError):
    """Rules with these windows and thresholds would never fire, or always."""


def seconds(time: str) -> int:
    """How long a time of Prometheus is, ``15m``.

    Raises:
        BadParameters: It is none, or nothing at all.
    """
    found = _TIME.fullmatch(time)
    if found is None:
        raise BadParameters(f"{time!r} is no time; write 30s, 15m, 6h, 7d")
    return int(found[1]) * _SECONDS[found[2]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """Windows and thresholds of the rules.

    With the defaults, healthy runs of which 1 % are flagged by mistake give less than one false
    page a week at any volume: see ``docs/alerts.md`` for the figures.

    Attributes:
        long: The window whose share of runs counts; also that of the judge's spending.
        short: The window that must agree, so that an alert ends soon after its cause.
        share: Share of runs with a failure mode above which it is an alert, 0 to 1.
        least_runs: Runs with the failure mode there must be in the long window.
        hold: How long an alert must be true (its ``for``).
        linger: How long it stays after its expression is no longer true.
        loop_tokens: Tokens in the short window that runs spend after a loop was found.
        idle_seconds: Seconds without an event after which a run is stalled.
        judge_window: How long the judge may be silent while runs wait.
        judge_usd: What the judge may cost in the long window, US dollars.
        compared: The window compared with the one a ``period`` ago.
        period: How long ago that is.
        every: How often the rules are evaluated.
        every_compared: How often those of the comparison are.
        runbooks: Where the pages of the failure modes are.
        help_page: Where the page of the other alerts is.
    """

    long: str = "1h"
    short: str = "15m"
    share: float = 0.1
    least_runs: int = 5
    hold: str = "2m"
    linger: str = "15m"
    loop_tokens: int = 100_000
    idle_seconds: int = 900
    judge_window: str = "30m"
    judge_usd: float = 5.0
    compared: str = "1d"
    period: str = "1w"
    every: str = "30s"
    every_compared: str = "5m"
    runbooks: str = "docs/modes"
    help_page: str = "docs/alerts.md"

    def __post_init__(self) -> None:
        """Refuse what would make an alert silent or endless."""
        if not 0 < self.share < 1:
            raise BadParameters(f"share is a share of runs, between 0 and 1, not {self.share}")
        for name in ("least_runs", "idle_seconds"):
            if getattr(self, name) < 1:
                raise BadParameters(f"{name} is at least 1, not {getattr(self, name)}")
        for name in ("loop_tokens", "judge_usd"):
            if not getattr(self, name) >= 0:
                raise BadParameters(f"{name} is not below 0, as {getattr(self, name)} is")
        if seconds(self.short) > seconds(self.long):
            raise BadParameters(f"short ({self.short}) is longer than long ({self.long})")
