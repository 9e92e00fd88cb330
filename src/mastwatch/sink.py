"""The base class of everything that hears what the watch says."""

from __future__ import annotations

from mastwatch.events import Event
from mastwatch.findings import Finding, Notice

SUPPRESSED_BY = ("allow", "ignore")
"""What can suppress a finding: the host's code, or a rule of its configuration."""

ACTIONS: dict[str, tuple[str, ...]] = {
    "callback": ("done", "failed", "dropped"),
    "webhook": ("done", "failed", "dropped", "duplicate", "held_back"),
    "halt": ("done", "dry_run", "unsupported"),
    "nudge": ("done", "dry_run", "unsupported"),
}
"""What can be done on a finding, and what can become of it."""


class Sink:
    """Hears of everything, in the thread where it happened; every call is guarded.

    Keep the methods quick. ``name`` labels the errors of this sink.
    """

    name = "sink"

    def on_event(self, event: Event, framework: str) -> None:
        """An event went by (no duplicate)."""

    def on_finding(self, finding: Finding) -> None:
        """A finding got through the hysteresis."""

    def on_notice(self, notice: Notice) -> None:
        """Something worth knowing that is no failure mode."""

    def on_run_end(self, run_id: str) -> None:
        """A run is over, and everything about it has been said; one that waits is not over."""

    def on_suppressed(self, finding: Finding, by: str, reason: str) -> None:
        """A finding would have got through, but the host suppresses it.

        Called while its run takes in the event: nothing may be said of the run from in here.

        Args:
            finding: As it would have been reported.
            by: One of ``SUPPRESSED_BY``.
            reason: What the host gave as the reason.
        """

    def on_action(self, action: str, mode: str, result: str) -> None:
        """Something was done on a finding of this mode; both words stand in ``ACTIONS``."""

    def on_duplicate(self, event: Event) -> None:
        """An event was dropped because it had been reported before."""

    def on_dropped(self, reason: str) -> None:
        """Something was lost at one of our bounds."""

    def on_detector(self, name: str, seconds: float) -> None:
        """A detector took so long over one event (a sample of all)."""
