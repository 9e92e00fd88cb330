"""Who hears what a worker does."""

from __future__ import annotations

from mastwatch.store import Attribution, Report, Trace


class Listener:
    """Hears of reports, in the worker's thread; every call is guarded.

    ``name`` labels the errors of this listener.
    """

    name = "listener"

    def on_report(self, report: Report, trace: Trace) -> None:
        """A report was given; nobody else gives one for this run."""

    def on_attribution(self, attribution: Attribution, trace: Trace) -> None:
        """An attribution was given; nobody else gives one for this run."""

    def on_put_off(self, result: Report | Attribution) -> None:
        """A run is to be tried again later; what this result took is spent all the same."""

    def on_queue(self, depth: int) -> None:
        """So many runs wait or are being judged, in the whole store."""
