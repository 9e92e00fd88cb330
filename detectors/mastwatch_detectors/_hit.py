"""What a rule hands to its detector."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from mastwatch.findings import Severity

EVIDENCE_KEPT = 24
"""Rows that a finding names at most: the first and the latest."""


class Hit(NamedTuple):
    """A rule holds now. The fields are those of ``Detector.finding``."""

    severity: Severity
    key: str
    agent: str
    evidence: tuple[int, ...]
    explanation: str
    owner: str | None = None
    tool: str = ""


def worst(hits: Iterable[Hit | None]) -> Hit | None:
    """Return the most severe hit; of equals the first."""
    best: Hit | None = None
    for hit in hits:
        if hit is not None and (best is None or hit.severity > best.severity):
            best = hit
    return best


def rows(evidence: list[int]) -> tuple[int, ...]:
    """Bound a list of rows, keeping where it began and where it stands."""
    if len(evidence) <= EVIDENCE_KEPT:
        return tuple(evidence)
    return (evidence[0], *evidence[1 - EVIDENCE_KEPT :])


def level(count: int, steps: dict[Severity, int]) -> Severity | None:
    """Return the highest severity whose count is reached.

    >>> level(4, {Severity.WARN: 3, Severity.ALERT: 5})
    <Severity.WARN: 3>
    """
    reached = [severity for severity, least in steps.items() if count >= least]
    return max(reached, default=None)
