"""Which findings are worth a message: no repeats, and not too many a minute."""

from __future__ import annotations

import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable

from mastwatch.findings import Finding, Severity

MAX_REMEMBERED = 4_096
"""Fingerprints remembered; the oldest makes room."""
_MINUTE = 60.0


class Gate:
    """Lets a finding pass, or holds it back; used by one thread at a time.

    Args:
        window: Seconds in which the same finding (by its fingerprint) passes once, unless it got
            more severe.
        per_minute: Findings that pass in a minute; the others are summed up.
        clock: Monotonic seconds; tests give their own.
    """

    def __init__(
        self, window: float, per_minute: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._window = window
        self._per_minute = per_minute
        self._clock = clock
        self._seen: OrderedDict[str, tuple[float, Severity]] = OrderedDict()
        self._passed: deque[float] = deque()
        self.held: Counter[tuple[str, str]] = Counter()

    def admit(self, finding: Finding) -> str:
        """Say what is to become of a finding: empty to pass, ``duplicate`` or ``held_back``."""
        now = self._clock()
        seen = self._seen.get(finding.fingerprint)
        if seen and now - seen[0] < self._window and finding.severity <= seen[1]:
            return "duplicate"
        self._seen[finding.fingerprint] = (now, finding.severity)
        self._seen.move_to_end(finding.fingerprint)
        if len(self._seen) > MAX_REMEMBERED:
            self._seen.popitem(last=False)
        if self.held or self._wait(now) > 0:  # what is summed up leaves in order
            self.held[finding.mode, finding.severity.label] += 1
            return "held_back"
        self._passed.append(now)
        return ""

    def summary_due(self) -> float | None:
        """Seconds until the sum of what was held back may pass; None where there is none."""
        return self._wait(self._clock()) if self.held else None

    def take_held(self) -> dict[tuple[str, str], int]:
        """What was held back, counted by mode and severity; taken once."""
        held, self.held = self.held, Counter()
        self._passed.append(self._clock())
        return dict(sorted(held.items()))

    def _wait(self, now: float) -> float:
        while self._passed and now - self._passed[0] >= _MINUTE:
            self._passed.popleft()
        full = len(self._passed) >= self._per_minute
        return self._passed[0] + _MINUTE - now if full else 0.0
