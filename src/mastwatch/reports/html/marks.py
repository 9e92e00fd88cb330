"""Evidence and findings by the row they concern, and the names of the places in a page."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from mastwatch.findings import Finding
from mastwatch.judge.render import row_text
from mastwatch.reports.html.quotes import Said
from mastwatch.store import Evidence, Report, Trace, Verdict

HUES = 6
"""Colours that tell agents apart; more agents share them."""
_NO_NAME = re.compile(r"[^\w-]+", re.ASCII)
_ORDER = ("present", "unsure", "not_evaluated", "absent")


def row_anchor(index: int) -> str:
    """Name of a row in the page."""
    return f"m{index}"


def verdict_anchor(slug: str) -> str:
    """Name of a verdict in the page."""
    return f"v-{_NO_NAME.sub('-', slug)}"


def in_reading_order(report: Report) -> list[Verdict]:
    """Verdicts, what matters first."""
    return sorted(report.verdicts.values(), key=lambda v: _ORDER.index(v.verdict))


def hues(trace: Trace) -> dict[str, str]:
    """Classes that colour the agents of a run."""
    return {agent: f"hue{number % HUES}" for number, agent in enumerate(trace.agents)}


@dataclass(frozen=True, slots=True)
class Mark:
    """A quote, and where in its row it stands.

    Attributes:
        anchor: Its name in the page.
        verdict: What it is evidence of.
        evidence: The quote.
        begin, end: Where in the row's text; equal where it was not found.
    """

    anchor: str
    verdict: Verdict
    evidence: Evidence
    begin: int = 0
    end: int = 0

    @property
    def found(self) -> bool:
        """Whether the page can show the words themselves."""
        return self.end > self.begin


class Marks:
    """All that is said about the rows of a run.

    Args:
        trace: The run.
        report: What the judge says of it.
    """

    def __init__(self, trace: Trace, report: Report) -> None:
        texts = {row.index: row_text(row) for row in trace.rows}
        self.known = frozenset(texts)
        self._by_row: dict[int, list[Mark]] = defaultdict(list)
        self._by_verdict: dict[str, list[Mark]] = defaultdict(list)
        said: dict[int, Said] = {}
        for verdict in in_reading_order(report):
            for number, item in enumerate(verdict.evidence):
                index = item.message_index
                if index in texts and index not in said:
                    said[index] = Said(texts[index])
                place = said[index].find(item.quote) if index in said else None
                anchor = f"q{verdict_anchor(verdict.slug)[1:]}-{number + 1}"
                mark = Mark(anchor, verdict, item, *(place or (0, 0)))
                self._by_row[index].append(mark)
                self._by_verdict[verdict.slug].append(mark)
        self._findings: dict[int, list[Finding]] = defaultdict(list)
        for finding in trace.findings:
            self._findings[finding.message_index].append(finding)

    def of_row(self, index: int) -> Sequence[Mark]:
        """Quotes from a row."""
        return self._by_row.get(index, ())

    def of_verdict(self, slug: str) -> Sequence[Mark]:
        """Quotes behind a verdict."""
        return self._by_verdict.get(slug, ())

    def findings(self, index: int) -> Sequence[Finding]:
        """Live findings that fired at a row."""
        return self._findings.get(index, ())

    def target(self, mark: Mark) -> str | None:
        """Where a quote's link leads; None when its row is not in the page."""
        if mark.found:
            return f"#{mark.anchor}"
        index = mark.evidence.message_index
        return f"#{row_anchor(index)}" if index in self.known else None
