"""Where a command writes the reports of its runs, and the page over all of them."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mastwatch import reports

if TYPE_CHECKING:
    from mastwatch.store import Attribution, Evidence, Report, Trace


class ReportFolder:
    """Writes reports; where that fails it is said, once: what was paid for is printed all the same.

    Args:
        folder: Where to; None writes nothing.
        say: Says something on stderr.
    """

    def __init__(self, folder: Path | None, say: Callable[[str], None]) -> None:
        self._folder = folder
        self._say = say
        self._cases: list[reports.Case] = []
        self._said = False

    def write(self, trace: Trace, report: Report | None, attribution: Attribution | None) -> None:
        """Write the files of a run."""
        if self._folder is None:
            return
        earlier = earlier_results(self._folder, trace)
        report, attribution = report or earlier[0], attribution or earlier[1]
        with self._unwritten():
            files = reports.write_report(trace, report, self._folder, attribution)
            self._cases.append(reports.case(trace, report, files[-1].name, attribution))

    def end(self) -> None:
        """Write the page over all runs."""
        if self._folder is None or not self._cases:
            return
        with self._unwritten():
            reports.write_summary(self._cases, self._folder)
        where = f"{self._folder}, over all runs in {self._folder / 'summary.html'}"
        self._say(f"reports are in {where}")

    @contextlib.contextmanager
    def _unwritten(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if not self._said:
                why = error.strerror or error
                self._say(f"--out {self._folder}: {why}; not all reports are there")
            self._said = True


def make_folder(folder: Path) -> None:
    """See, before anything is spent, that reports can be written.

    Raises:
        ValueError: They cannot.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ValueError(
            f"--out {folder}: {error.strerror or error}; name a folder that can be written to"
        ) from None


def earlier_results(folder: Path, trace: Trace) -> tuple[Report | None, Attribution | None]:
    """What the folder holds of this run: judging it must not lose its attribution, nor the reverse.

    Runs of files are named by their place, and another run may have stood there: only what quotes
    this one is taken.

    Args:
        folder: With the reports.
        trace: The run.
    """
    from mastwatch.store import codec

    path = folder / f"{reports.file_stem(trace.run_id)}.json"
    report = attribution = None
    with contextlib.suppress(OSError, ValueError, TypeError):
        told = json.loads(path.read_bytes())
        if "attribution" in told:
            attribution = codec.attribution_from_json(json.dumps(told["attribution"]))
        if "verdicts" in told:
            report = codec.report_from_json(json.dumps(told))
    verdicts = report.verdicts.values() if report is not None else ()
    judged = [item for verdict in verdicts for item in verdict.evidence]
    decided = attribution.evidence if attribution is not None else ()
    return (
        report if _quoted(judged, trace) else None,
        attribution if _quoted(decided, trace) else None,
    )


def _quoted(evidence: Sequence[Evidence], trace: Trace) -> bool:
    """Whether there are quotes, and all that were word for word stand in the run."""
    from mastwatch.judge.evidence import normal
    from mastwatch.judge.render import row_text

    exact = [item for item in evidence if item.status == "verified"]
    said = {row.index: normal(row_text(row)) for row in trace.rows} if exact else {}
    return bool(exact) and all(
        normal(item.quote) in said.get(item.message_index, "") for item in exact
    )
