"""What ``mastwatch attribute`` prints and writes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from mastwatch.commands.run_output import BOLD, DIM, RED, RunOutput
from mastwatch.commands.show import printable
from mastwatch.reports import attribution_line, wording

if TYPE_CHECKING:
    from mastwatch.store import Attribution, Candidate, Report, Trace


class Output(RunOutput):
    """Prints attributions as they come and writes their files; arguments as of its base class."""

    def __init__(self, stream: TextIO, *, plain: bool, folder: Path | None, colour: bool) -> None:
        super().__init__(stream, plain=plain, folder=folder, colour=colour, say=say)

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
        yield f"{self._ink(BOLD, printable(found.run_id))}  {', '.join(about)}"
        if found.step is None:
            yield f"  {printable(wording.decision(found))}"
        else:
            word = wording.DECISIONS[found.result].upper()
            yield f"  {self._ink(RED, word)}  #{found.step} {printable(found.agent)}"
            yield from _told(found)
        for candidate in found.candidates:
            if candidate.step != found.step:
                yield self._ink(DIM, _other(candidate))
        for problem in found.problems:
            yield f"  problem  {printable(problem)}"
        usage = found.usage
        spent = f"{wording.count(usage.calls, 'call')}, {wording.tokens(usage)}"
        yield self._ink(DIM, f"  {spent}, {wording.duration(usage.seconds)}")
        yield ""


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
