"""What a worker writes into a folder: the report of each run, and a page over all of them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from mastwatch import reports
from mastwatch.guard import guard
from mastwatch.judge.worker import Listener
from mastwatch.store import RunFilter

if TYPE_CHECKING:
    from mastwatch.store import Attribution, Report, Store, Trace

MAX_CASES = 10_000
"""Runs on the page over all of them; the latest."""


class ReportFiles(Listener):
    """Writes each run's report as JSON, Markdown and HTML, and a page over all of them.

    A report is written when it is given, and anew when the run's attribution is. The page is over
    all runs of the store that have their files in the folder: also those of an earlier worker, and
    of others at work beside this one.

    Args:
        folder: Where to.
        store: Knows the runs.
    """

    name = "files"

    def __init__(self, folder: Path, store: Store) -> None:
        self._folder = folder
        self._store = store
        self._cases: dict[str, reports.Case] = {}
        self._changed = False

    def on_report(self, report: Report, trace: Trace) -> None:
        """Write a run's files; one that is judged anew may have been attributed before."""
        self._write(trace, report, self._store.attribution(trace.run_id))

    def on_attribution(self, attribution: Attribution, trace: Trace) -> None:
        """Write a run's files anew."""
        self._write(trace, self._store.report(trace.run_id), attribution)

    def on_queue(self, depth: int) -> None:
        """Write the page when nothing waits any more: not after each of a thousand runs."""
        if depth == 0:
            self.close()

    def close(self) -> None:
        """Write the page, if there is anything new."""
        if self._changed:
            self._changed = False
            with guard("judge.files"):
                self._cases = dict(self._every_case())
                reports.write_summary(self._cases.values(), self._folder)

    def _write(self, trace: Trace, report: Report | None, attribution: Attribution | None) -> None:
        files = reports.write_report(trace, report, self._folder, attribution)
        self._cases[trace.run_id] = reports.case(trace, report, files[-1].name, attribution)
        self._changed = True

    def _every_case(self) -> Iterator[tuple[str, reports.Case]]:
        judged = self._store.runs(RunFilter(judged=True, limit=MAX_CASES))
        only = self._store.runs(RunFilter(judged=False, attributed=True, limit=MAX_CASES))
        for run_id in (*judged, *only):
            page = f"{reports.file_stem(run_id)}.html"
            if run_id in self._cases:
                yield run_id, self._cases[run_id]
            elif (self._folder / page).exists():
                with contextlib.suppress(ValueError):  # a newer release wrote it
                    trace = self._store.trace(run_id)
                    if trace is not None:
                        report = self._store.report(run_id)
                        found = self._store.attribution(run_id)
                        yield run_id, reports.case(trace, report, page, found)
