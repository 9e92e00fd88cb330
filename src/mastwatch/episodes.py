"""Hysteresis: of what detectors say on every event, only what is new gets through.

An episode is one loop, overrun or restart, known by its finding's fingerprint. Each rise of its
severity is a Finding; repeats at the same level are swallowed; after 8 rows without it the episode
is over and the next one counts anew. A human message ends all episodes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from mastwatch.findings import Finding, Severity

REARM_AFTER = 8
"""Rows of the transcript without the finding after which its episode is over."""
MAX_EPISODES = 128
"""Open episodes per conversation; beyond, the oldest is forgotten."""
MAX_NUMBERED = 1_024
"""Fingerprints per conversation whose episodes are numbered apart."""


@dataclass(slots=True)
class _Episode:
    number: int
    severity: Severity
    quiet: int = 0


class Episodes:
    """The episodes of one conversation."""

    def __init__(self) -> None:
        self._open: dict[str, _Episode] = {}
        self._numbers: dict[str, int] = {}

    def row(self) -> None:
        """A row of the transcript went by: episodes not renewed since grow older."""
        if not self._open:
            return
        for key, episode in list(self._open.items()):
            episode.quiet += 1
            if episode.quiet > REARM_AFTER:
                self._open.pop(key, None)  # another thread may have let all count anew

    def reset(self) -> None:
        """A person spoke: what follows counts anew."""
        self._open.clear()

    def admit(self, finding: Finding, suppressed: bool = False) -> Finding | None:
        """The finding with its episode set, if it is the first or a rise; else None.

        Suppressed findings have episodes of their own: a loop that goes on where it is no longer
        suppressed is news.
        """
        key = f"{finding.fingerprint} suppressed" if suppressed else finding.fingerprint
        episode = self._open.get(key)
        if episode is None:
            episode = self._begin(key, finding.severity)
        else:
            episode.quiet = 0
            if finding.severity <= episode.severity:
                return None
            episode.severity = finding.severity
        return replace(finding, episode=f"{finding.fingerprint}-{episode.number}")

    def _begin(self, key: str, severity: Severity) -> _Episode:
        if len(self._open) >= MAX_EPISODES:
            del self._open[next(iter(self._open))]
        if len(self._numbers) >= MAX_NUMBERED:
            self._numbers.clear()
        number = self._numbers.get(key, 0) + 1
        self._numbers[key] = number
        episode = _Episode(number, severity)
        self._open[key] = episode
        return episode
