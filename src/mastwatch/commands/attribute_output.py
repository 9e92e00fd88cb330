"""What ``mastwatch attribute`` prints and writes."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from mastwatch.commands.report_folder import ReportFolder
from mastwatch.commands.show import printable
from mastwatch.reports import attribution_line, wording

if TYPE_CHECKING:
    from mastwatch.store import Attribution, Candidate, Report, Trace

_BOLD, _RED, _DIM = "1", "1;31", "2"


class Output:
    """Prints attributions as they come and writes their files.

    Args:
        stream: Where to.
        plain: One JSON object per line; else lines for people.
        folder: Files are written here, too; None for none.
        colour: ANSI colours, for people.
    """

    def __init__(self, stream: TextIO, *, plain: bool, folder: Path | None, colour: bool) -> None:
        self._stream = stream
        self._plain = plain
        self._files = ReportFolder(folder, say)
        self._colour = colour
        self._totals: Counter[str] = Counter()

    def attribution(self, trace: Trace, report: Report | None, found: Attribution) -> None:
        """Print an attribution, and write the files of its run."""
        self._totals["runs"] += 1
        self._totals["found"] += found.step is not None
        self._totals["calls"] += found.usage.calls
        self._totals["tokens"] += found.usage.input_tokens + found.usage.output_tokens
        if self._plain:
            self._line(attribution_line(found))
        else:
            for line in self._lines(trace, found):
                self._line(line)
        self._stream.flush()
        self._files.write(trace, report, found)

    def end(self) -> None:
        """Print the totals; write the page over all runs."""
        self._files.end()
        if not self._plain and self._totals["runs"] > 1:
            self._line(
                f"{wording.count(self._totals['runs'], 'run')}, "
                f"{self._totals['found']} with a deciding step, "
                f"{wording.count(self._totals['calls'], 'call')}, "
                f"{wording.count(self._totals['tokens'], 'token')}"
            )

    def _lines(self, trace: Trace, found: Attribution) -> Iterator[str]:
        about = [f"{len(trace.rows)} rows", f"coverage {wording.share(found.coverage)}"]
        about.append(wording.METHODS[found.method])
        yield f"{self._ink(_BOLD, printable(found.run_id))}  {', '.join(about)}"
        if found.step is None:
            yield f"  {printable(wording.decision(found))}"
        else:
            word = wording.DECISIONS[found.result].upper()
            yield f"  {self._ink(_RED, word)}  #{found.step} {printable(found.agent)}"
            yield from _told(found)
        for candidate in found.candidates:
            if candidate.step != found.step:
                yield self._ink(_DIM, _other(candidate))
        for problem in found.problems:
            yield f"  problem  {printable(problem)}"
        usage = found.usage
        spent = f"{wording.count(usage.calls, 'call')}, {wording.tokens(usage)}"
        yield self._ink(_DIM, f"  {spent}, {wording.duration(usage.seconds)}")
        yield ""

    def _ink(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._colour else text

    def _line(self, text: str) -> None:
        encoding = self._stream.encoding or "utf-8"
        self._stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")


def _told(found: Attribution) -> Iterator[str]:
    if found.reason:
        yield f"           {printable(found.reason)}"
    if found.counterfactual:
        yield f"           instead: {printable(found.counterfactual)}"
    for item in found.evidence:
        yield f"           #{item.message_index}: {printable(item.quote)[:200]}"
    if found.modes:
        yield f"           failure modes in this row: {', '.join(found.modes)}"


def _other(candidate: Candidate) -> str:
    why = f": {printable(candidate.objection)}" if candidate.objection else ""
    return f"  {candidate.check:<9}#{candidate.step} {printable(candidate.agent)}{why}"


def say(text: str) -> None:
    """Say something that is no attribution, on stderr."""
    sys.stderr.write(f"mastwatch attribute: {printable(text)}\n")
