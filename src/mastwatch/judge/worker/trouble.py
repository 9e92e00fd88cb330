"""What stops all runs: said once when it begins and once when it is over."""

from __future__ import annotations

import logging

from mastwatch.judge.worker.fate import Fate
from mastwatch.store import Attribution, Report

_log = logging.getLogger("mastwatch")

_SAID = {
    "auth": "the judge's key is refused",
    "unreachable": "the judge's model cannot be reached",
    "rate_limited": "the judge's server turns calls away",
    "budget": "the judge's limit for today is reached",
    "store": "the store that counts the judge's spending cannot be used",
}


class Trouble:
    """Whether no run can be judged for now.

    Attributes:
        times: How often in a row it was tried in vain; 0 when all is well.
    """

    def __init__(self) -> None:
        self.times = 0
        self._until = 0.0
        self._reason = ""

    def waits(self, now: float) -> bool:
        """Whether it is too early to try again."""
        return now < self._until

    def met(self, found: Fate, result: Report | Attribution, now: float) -> None:
        """A run met with it."""
        # Runs that were under way together meet with the same trouble: it counts once.
        if not self.waits(now):
            self.times += 1
        self._until = max(self._until, now + found.seconds)
        if self._reason != found.reason:
            self._reason = found.reason
            why = next(iter(result.problems), "")
            _log.warning(
                "mastwatch: %s%s. Runs stay in the store and are judged when this has passed.",
                _SAID.get(found.reason, found.reason),
                f" ({why})" if why and found.reason != "budget" else "",
            )

    def over(self) -> None:
        """A run was judged."""
        if self.times:
            _log.info("mastwatch: the judge works again")
        self.times, self._until, self._reason = 0, 0.0, ""
