"""What ``mastwatch judge`` prints and writes: reports, estimates, progress."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from mastwatch import reports
from mastwatch.commands.show import printable
from mastwatch.reports import wording
from mastwatch.reports.cases import Case

if TYPE_CHECKING:
    from mastwatch.judge.preflight import Estimate
    from mastwatch.store import Report, Trace, Verdict

_BOLD, _RED, _DIM = "1", "1;31", "2"


class Output:
    """Prints reports as they come and writes their files.

    Args:
        stream: Where to.
        plain: One JSON object per line; else lines for people.
        folder: Files are written here, too; None for none.
        colour: ANSI colours, for people.
    """

    def __init__(self, stream: TextIO, *, plain: bool, folder: Path | None, colour: bool) -> None:
        self._stream = stream
        self._plain = plain
        self._folder = folder
        self._colour = colour
        self._cases: list[Case] = []
        self._totals: Counter[str] = Counter()
        self._usd = 0.0

    def report(self, trace: Trace, report: Report) -> None:
        """Print a report, and write its files."""
        self._totals["runs"] += 1
        self._totals["calls"] += report.usage.calls
        self._totals["tokens"] += report.usage.input_tokens + report.usage.output_tokens
        self._usd += report.usage.usd or 0.0
        if self._folder is not None:
            files = reports.write_report(trace, report, self._folder)
            self._cases.append(reports.case(trace, report, files[-1].name))
        if self._plain:
            self._stream.write(reports.report_line(report) + "\n")
        else:
            for line in self._lines(trace, report):
                self._line(line)
        self._stream.flush()

    def end(self) -> None:
        """Print the totals; write the page over all runs."""
        if self._folder is not None and self._cases:
            reports.write_summary(self._cases, self._folder)
            say(f"reports are in {self._folder}, over all runs in {self._folder / 'summary.html'}")
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
        yield f"{self._ink(_BOLD, printable(report.run_id))}  {', '.join(about)}"
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
            yield self._ink(_DIM, f"  absent   {', '.join(absent)}")
        for problem in report.problems:
            yield f"  problem  {printable(problem)}"
        usage = report.usage
        money = f", {wording.money(usage.usd)}" if usage.usd is not None else ""
        yield self._ink(
            _DIM,
            f"  {wording.count(usage.calls, 'call')}, {wording.tokens(usage)}{money}, "
            f"{wording.duration(usage.seconds)}",
        )
        yield ""

    def _present(self, verdict: Verdict) -> Iterator[str]:
        sure = f" {verdict.confidence:.2f}" if verdict.confidence is not None else ""
        word = self._ink(_RED, "PRESENT")
        yield f"  {word}  {verdict.mode} {wording.mode_name(verdict)}{sure}"
        if verdict.why:
            yield f"           {printable(verdict.why)}"
        for item in verdict.evidence:
            yield f"           #{item.message_index}: {printable(item.quote)[:200]}"

    def _ink(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._colour else text

    def _line(self, text: str) -> None:
        encoding = self._stream.encoding or "utf-8"
        self._stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")


def _not_evaluated(verdicts: list[Verdict]) -> Iterator[str]:
    by_reason: dict[str, list[str]] = {}
    for verdict in verdicts:
        by_reason.setdefault(verdict.reason, []).append(verdict.mode)
    for reason, modes in by_reason.items():
        which = "all modes" if len(modes) > 13 else ", ".join(modes)
        yield f"  not evaluated: {which}: {wording.reason(reason)}"


class Plan:
    """Prints estimates.

    Args:
        stream: Where to.
        plain: One JSON object per line.
    """

    def __init__(self, stream: TextIO, *, plain: bool) -> None:
        self._stream = stream
        self._plain = plain
        self._sums: Counter[str] = Counter()
        self._usd: float | None = 0.0

    def run(self, estimate: Estimate) -> None:
        """Print what one run takes."""
        least, most = estimate.least, estimate.most
        self._sums["runs"] += 1
        for when, asked in (("least", least), ("most", most)):
            self._sums[f"{when}_calls"] += asked.calls
            self._sums[f"{when}_in"] += asked.input_tokens
            self._sums[f"{when}_out"] += asked.output_tokens
        self._usd = None if most.usd is None or self._usd is None else self._usd + most.usd
        if self._plain:
            self._write(
                json.dumps({"run": estimate.run_id, **_without(asdict(estimate), "run_id")})
            )
            return
        over = f"; over the limit of {', '.join(estimate.over)}" if estimate.over else ""
        self._write(
            f"{printable(estimate.run_id)}  {_between(least.calls, most.calls)} calls, "
            f"{_between(least.input_tokens, most.input_tokens)} tokens in, at most "
            f"{most.output_tokens:,} out, {_at_most(most.usd)}{over}"
        )

    def end(self) -> None:
        """Print the total."""
        s = self._sums
        if self._plain:
            total = {
                "runs": s["runs"],
                "calls": [s["least_calls"], s["most_calls"]],
                "input_tokens": [s["least_in"], s["most_in"]],
                "output_tokens": [s["least_out"], s["most_out"]],
                "usd": None if self._usd is None else round(self._usd, 6),
            }
            self._write(json.dumps({"total": total}))
            return
        self._write(
            f"total: {wording.count(s['runs'], 'run')}, "
            f"{_between(s['least_calls'], s['most_calls'])} calls, "
            f"{_between(s['least_in'], s['most_in'])} tokens in, at most {s['most_out']:,} out, "
            f"{_at_most(self._usd)}; nothing was sent"
        )

    def _write(self, text: str) -> None:
        self._stream.write(text + "\n")


def _without(shown: dict[str, object], name: str) -> dict[str, object]:
    return {key: value for key, value in shown.items() if key != name}


def _between(least: int, most: int) -> str:
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _at_most(usd: float | None) -> str:
    return "no price known" if usd is None else f"at most {wording.money(usd)}"


class Progress:
    """A line on stderr, where that is a terminal."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()

    def tell(self, done: int, under_way: int) -> None:
        """Show how far it is."""
        if self._shown:
            sys.stderr.write(f"\r\x1b[K{done} judged, {under_way} under way")
            sys.stderr.flush()

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def say(text: str) -> None:
    """Say something that is no report, on stderr."""
    sys.stderr.write(f"mastwatch judge: {printable(text)}\n")
