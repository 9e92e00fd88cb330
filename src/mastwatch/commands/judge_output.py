"""What ``mastwatch judge`` prints and writes: reports, progress."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from mastwatch import reports
from mastwatch.commands.run_output import BOLD, DIM, RED, RunOutput
from mastwatch.commands.show import printable
from mastwatch.reports import wording

if TYPE_CHECKING:
    from mastwatch.store import Attribution, Report, Trace, Verdict


class Output(RunOutput):
    """Prints reports as they come and writes their files; arguments as of its base class."""

    def __init__(self, stream: TextIO, *, plain: bool, folder: Path | None, colour: bool) -> None:
        super().__init__(stream, plain=plain, folder=folder, colour=colour, say=say)
        self._usd = 0.0

    def report(self, trace: Trace, report: Report, attribution: Attribution | None = None) -> None:
        """Print a report, and write its files, with an attribution that is known already."""
        self._totals["runs"] += 1
        self._totals["calls"] += report.usage.calls
        self._totals["tokens"] += report.usage.input_tokens + report.usage.output_tokens
        self._usd += report.usage.usd or 0.0
        if self._plain:
            self._stream.write(reports.report_line(report) + "\n")
        else:
            for line in self._lines(trace, report):
                self._line(line)
        self._stream.flush()
        self._files.write(trace, report, attribution)

    def end(self) -> None:
        """Print the totals; write the page over all runs."""
        self._files.end()
        if not self._plain and self._totals["runs"] > 1:
            money = f", {wording.money(self._usd)}" if self._usd else ""
            self._line(
                f"{wording.count(self._totals['runs'], 'run')}, "
                f"{wording.count(self._totals['calls'], 'call')}, "
                f"{wording.count(self._totals['tokens'], 'token')}{money}"
            )

    def _lines(self, trace: Trace, report: Report) -> Iterator[str]:
        about = [f"{len(trace.rows)} rows", f"coverage {wording.share(report.coverage)}"]
        about.append(f"task completed: {wording.WORDS[report.task_completed]}")
        about.append(report.calibration)
        yield f"{self._ink(BOLD, printable(report.run_id))}  {', '.join(about)}"
        by_word: dict[str, list[Verdict]] = {}
        for verdict in report.verdicts.values():
            by_word.setdefault(verdict.verdict, []).append(verdict)
        for verdict in by_word.get("present", ()):
            yield from self._present(verdict)
        for verdict in by_word.get("unsure", ()):
            why = f" ({wording.reason(verdict.reason)})" if verdict.reason else ""
            yield f"  unsure   {verdict.mode} {wording.mode_name(verdict)}{why}"
        yield from _not_evaluated(by_word.get("not_evaluated", []))
        absent = [verdict.mode for verdict in by_word.get("absent", ())]
        if absent:
            yield self._ink(DIM, f"  absent   {', '.join(absent)}")
        for problem in report.problems:
            yield f"  problem  {printable(problem)}"
        usage = report.usage
        money = f", {wording.money(usage.usd)}" if usage.usd is not None else ""
        yield self._ink(
            DIM,
            f"  {wording.count(usage.calls, 'call')}, {wording.tokens(usage)}{money}, "
            f"{wording.duration(usage.seconds)}",
        )
        yield ""

    def _present(self, verdict: Verdict) -> Iterator[str]:
        sure = f" {verdict.confidence:.2f}" if verdict.confidence is not None else ""
        word = self._ink(RED, "PRESENT")
        yield f"  {word}  {verdict.mode} {wording.mode_name(verdict)}{sure}"
        if verdict.why:
            yield f"           {printable(verdict.why)}"
        for item in verdict.evidence:
            yield f"           #{item.message_index}: {printable(item.quote)[:200]}"


def _not_evaluated(verdicts: list[Verdict]) -> Iterator[str]:
    by_reason: dict[str, list[str]] = {}
    for verdict in verdicts:
        by_reason.setdefault(verdict.reason, []).append(verdict.mode)
    for reason, modes in by_reason.items():
        which = "all modes" if len(modes) > 13 else ", ".join(modes)
        yield f"  not evaluated: {which}: {wording.reason(reason)}"


class Progress:
    """A line on stderr, where that is a terminal.

    Args:
        done: What has been done to the runs that are counted, ``judged``.
    """

    def __init__(self, done: str = "judged") -> None:
        self._done = done
        self._shown = sys.stderr.isatty()

    def tell(self, done: int, under_way: int) -> None:
        """Show how far it is."""
        if self._shown:
            sys.stderr.write(f"\r\x1b[K{done} {self._done}, {under_way} under way")
            sys.stderr.flush()

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def say(text: str) -> None:
    """Say something that is no report, on stderr."""
    sys.stderr.write(f"mastwatch judge: {printable(text)}\n")
