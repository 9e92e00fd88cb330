"""How findings of recorded runs look: JSON lines for programs, grouped lines for people."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TextIO

from mastwatch.findings import Finding, Notice, Severity

if TYPE_CHECKING:
    from mastwatch.formats import RecordedRun

_COLOURS = {
    Severity.INFO: "2",
    Severity.SUSPECT: "36",
    Severity.WARN: "33",
    Severity.ALERT: "1;31",
}


def printable(text: str) -> str:
    r"""Text from a log, safe for a terminal: one line, no control characters.

    >>> print(printable("a\x1b[2Jb\nc"))
    a\x1b[2Jb\nc
    """
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def coloured() -> bool:
    """Whether a terminal is to be written to in colours."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def as_json(verdict: Finding | Notice) -> dict[str, Any]:
    """The object printed for a finding; a notice has no mode but a name."""
    shown: dict[str, Any] = {
        "run": verdict.run_id,
        "mode": verdict.mode if isinstance(verdict, Finding) else None,
        "slug": verdict.slug if isinstance(verdict, Finding) else None,
        "severity": verdict.severity.label,
        "agent": verdict.agent,
        "message_index": verdict.message_index,
        "evidence": list(verdict.evidence),
        "explanation": verdict.explanation,
        "episode": verdict.episode if isinstance(verdict, Finding) else None,
        "fingerprint": verdict.fingerprint if isinstance(verdict, Finding) else None,
    }
    if isinstance(verdict, Notice):
        shown["notice"] = verdict.name
    return shown


class JsonView:
    """One JSON object per line and finding; flushed run by run, for a reader that waits."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def run(self, run: RecordedRun, verdicts: Sequence[Finding | Notice]) -> None:
        """Print a run's findings."""
        for verdict in verdicts:
            self._stream.write(json.dumps(as_json(verdict)) + "\n")
        if verdicts:
            self._stream.flush()

    def end(self) -> None:
        """Nothing more to say."""


class TerminalView:
    """Findings grouped by run, and a summary.

    Args:
        stream: The terminal.
        colour: ANSI colours; by default unless NO_COLOR or a dumb terminal says otherwise.
    """

    def __init__(self, stream: TextIO, colour: bool | None = None) -> None:
        self._stream = stream
        self._colour = coloured() if colour is None else colour
        self._runs = self._messages = self._flagged = 0
        self._modes: Counter[str] = Counter()

    def run(self, run: RecordedRun, verdicts: Sequence[Finding | Notice]) -> None:
        """Print a run that has findings; count one that has none."""
        self._runs += 1
        self._messages += run.messages
        if not verdicts:
            return
        about = f"{run.framework}, {run.messages} messages" if run.framework else ""
        self._line(f"{self._ink('1', printable(run.id))}  {printable(about)}".rstrip())
        for verdict in verdicts:
            self._verdict(verdict)
        self._line("")
        findings = [verdict for verdict in verdicts if isinstance(verdict, Finding)]
        self._flagged += bool(findings)
        # A rise of severity belongs to the same episode and is no second failure.
        episodes = {(f.mode, f.episode or f.fingerprint) for f in findings}
        self._modes.update(mode for mode, _ in episodes)

    def _verdict(self, verdict: Finding | Notice) -> None:
        severity = self._ink(_COLOURS[verdict.severity], f"{verdict.severity.label:<7}")
        if isinstance(verdict, Finding):
            what = f"{verdict.mode} {verdict.slug}"
        else:
            what = f"notice {verdict.name}"
        agent = f"  {printable(verdict.agent)}" if verdict.agent else ""
        self._line(f"  {verdict.message_index:>5}  {severity}  {what}{agent}")
        rows = ", ".join(map(str, verdict.evidence))
        evidence = f" [{rows}]" if rows else ""
        self._line(f"         {printable(verdict.explanation)}{evidence}")

    def end(self) -> None:
        """Print the summary."""
        counted = ", ".join(f"{mode} {count}" for mode, count in sorted(self._modes.items()))
        read = f"{_count(self._runs, 'run')} with {_count(self._messages, 'message')} read"
        if self._modes:
            total = sum(self._modes.values())
            flagged = _count(self._flagged, "run")
            self._line(f"{read}; {_count(total, 'finding')} in {flagged}: {counted}")
        else:
            self._line(f"{read}; nothing found")

    def _ink(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._colour else text

    def _line(self, text: str) -> None:
        encoding = self._stream.encoding or "utf-8"
        self._stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
