"""A judge's ``present`` verdicts as findings, for the sinks that hear of live ones."""

from __future__ import annotations

import hashlib

from mastwatch import taxonomy
from mastwatch.findings import Finding, Severity
from mastwatch.store import Report, Trace, Verdict

DETECTOR = "judge"
"""Stands where a live finding names its detector."""


def findings(report: Report, trace: Trace) -> list[Finding]:
    """The findings of a report: ``alert`` for fatal modes, else ``warn``.

    Modes of one's own are in no finding: severities, categories and metrics are MAST's.
    """
    return [_finding(verdict, trace) for verdict in report.present if _known(verdict.mode)]


def _finding(verdict: Verdict, trace: Trace) -> Finding:
    rows = sorted({item.message_index for item in verdict.evidence})
    agent = _agent(rows, trace)
    mode = taxonomy.mode(verdict.mode)
    key = "\x1f".join((mode.code, DETECTOR, agent))
    evidence = f"{len(rows)} row{'s' if len(rows) != 1 else ''}"
    return Finding(
        mode=mode.code,
        severity=Severity.ALERT if mode.fatal else Severity.WARN,
        detector=DETECTOR,
        run_id=trace.run_id,
        agent=agent,
        message_index=rows[-1] if rows else 0,
        evidence=tuple(rows),
        explanation=f"the judge found {mode.code} in the finished run, with evidence in {evidence}",
        fingerprint=hashlib.blake2b(
            key.encode("utf-8", "backslashreplace"), digest_size=8
        ).hexdigest(),
        episode=f"judge:{mode.code}",
        framework=trace.framework,
        source="judge",
    )


def _agent(rows: list[int], trace: Trace) -> str:
    """Who spoke in all of the rows; empty where no single agent did."""
    spoke = {row.agent for row in trace.rows if row.index in rows}
    return spoke.pop() if len(spoke) == 1 else ""


def _known(code: str) -> bool:
    return any(mode.code == code for mode in taxonomy.MODES)
