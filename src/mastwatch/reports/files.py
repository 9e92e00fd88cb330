"""Reports as files in a folder."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path

from mastwatch.reports.cases import Case
from mastwatch.reports.html import run_page, summary_page
from mastwatch.reports.json import report_document
from mastwatch.reports.markdown import markdown
from mastwatch.reports.summary import summarise, summary_document
from mastwatch.store import Attribution, Report, Trace

_NO_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_NAME_CHARS = 60


def file_stem(run_id: str) -> str:
    """A file name for a run, without its ending: readable, safe anywhere, different for each run.

    >>> file_stem("../../etc/passwd")
    'etc-passwd-3754d6cb'
    """
    digest = hashlib.sha256(run_id.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    words = _NO_NAME.sub("-", run_id)[:_NAME_CHARS].strip(".-")
    return f"{words or 'run'}-{digest}"


def write_report(
    trace: Trace, report: Report | None, folder: Path, attribution: Attribution | None = None
) -> list[Path]:
    """Write a run's report as JSON, Markdown and HTML.

    They hold text of the run; like the store they are for their owner's eyes only.

    Args:
        trace: The run.
        report: What the judge says of it, if it was judged.
        folder: Made where it is missing.
        attribution: Who decided that it failed, and where, if that was asked.

    Returns:
        The files.

    Raises:
        OSError: They cannot be written.
    """
    stem = file_stem(trace.run_id)
    return [
        _write(folder / f"{stem}.json", report_document(report, attribution)),
        _write(folder / f"{stem}.md", markdown(trace, report, attribution)),
        _write(folder / f"{stem}.html", run_page(trace, report, attribution)),
    ]


def write_summary(cases: Iterable[Case], folder: Path) -> list[Path]:
    """Write the page and the JSON over many runs.

    Args:
        cases: The runs; ``link`` is relative to ``folder``.
        folder: Made where it is missing.

    Returns:
        The files, ``summary.html`` and ``summary.json``.

    Raises:
        OSError: They cannot be written.
    """
    summary = summarise(cases)
    return [
        _write(folder / "summary.html", summary_page(summary)),
        _write(folder / "summary.json", summary_document(summary)),
    ]


def _write(path: Path, text: str) -> Path:
    """Whole or not at all: a reader may open the file while a worker writes it anew."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise
    return path
