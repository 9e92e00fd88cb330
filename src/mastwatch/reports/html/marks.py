"""Evidence and findings by the row they concern, and the names of the places in a page."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mastwatch.findings import Finding
from mastwatch.judge.render import row_text
from mastwatch.reports import wording
from mastwatch.reports.html.quotes import Said
from mastwatch.store import Attribution, Candidate, Evidence, Report, Trace, Verdict

HUES = 6
"""Colours that tell agents apart; more agents share them."""
ATTRIBUTION_ANCHOR = "the-step"
"""Name of the attribution in the page."""
_NO_NAME = re.compile(r"[^\w-]+", re.ASCII)
_ORDER = ("present", "unsure", "not_evaluated", "absent")


def row_anchor(index: int) -> str:
    """Name of a row in the page."""
    return f"m{index}"


def verdict_anchor(slug: str) -> str:
    """Name of a verdict in the page."""
    return f"v-{_NO_NAME.sub('-', slug)}"


def candidate_anchor(step: int) -> str:
    """Name of a step that was weighed, in the page."""
    return f"w-{step}"


def in_reading_order(report: Report) -> list[Verdict]:
    """Verdicts, what matters first."""
    return sorted(report.verdicts.values(), key=lambda v: _ORDER.index(v.verdict))


def weighed(attribution: Attribution) -> list[Candidate]:
    """The steps that were considered and not chosen, each once."""
    by_step: dict[int, Candidate] = {}
    for candidate in attribution.candidates:
        if candidate.step != attribution.step:
            by_step.setdefault(candidate.step, candidate)
    return list(by_step.values())


def hues(trace: Trace) -> dict[str, str]:
    """Classes that colour the agents of a run."""
    return {agent: f"hue{number % HUES}" for number, agent in enumerate(trace.agents)}


@dataclass(frozen=True, slots=True)
class Claim:
    """What a quote is evidence of: a verdict, or a step that may have decided the run.

    Attributes:
        anchor: Its name in the page.
        name: What it is called.
        tag: The same, short enough for a row.
        tone: Class that colours it.
    """

    anchor: str
    name: str
    tag: str
    tone: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A quote, and where in its row it stands.

    Attributes:
        anchor: Its name in the page.
        claim: What it is evidence of.
        evidence: The quote.
        begin, end: Where in the row's text; equal where it was not found.
    """

    anchor: str
    claim: Claim
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
        report: What the judge says of it, if it was judged.
        attribution: Who decided that it failed, and where, if that was asked.
    """

    def __init__(
        self, trace: Trace, report: Report | None, attribution: Attribution | None = None
    ) -> None:
        self._texts = {row.index: row_text(row) for row in trace.rows}
        self.known = frozenset(self._texts)
        self._said: dict[int, Said] = {}
        self._by_row: dict[int, list[Mark]] = defaultdict(list)
        self._by_claim: dict[str, list[Mark]] = defaultdict(list)
        for claim, evidence in (*_judged(report), *_attributed(attribution)):
            for number, item in enumerate(evidence):
                self._add(f"q-{claim.anchor.removeprefix('v-')}-{number + 1}", claim, item)
        self._findings: dict[int, list[Finding]] = defaultdict(list)
        for finding in trace.findings:
            self._findings[finding.message_index].append(finding)

    def of_row(self, index: int) -> Sequence[Mark]:
        """Quotes from a row."""
        return self._by_row.get(index, ())

    def of(self, anchor: str) -> Sequence[Mark]:
        """Quotes behind a claim, by the name of its place."""
        return self._by_claim.get(anchor, ())

    def findings(self, index: int) -> Sequence[Finding]:
        """Live findings that fired at a row."""
        return self._findings.get(index, ())

    def target(self, mark: Mark) -> str | None:
        """Where a quote's link leads; None when its row is not in the page."""
        return f"#{mark.anchor}" if mark.found else self.row(mark.evidence.message_index)

    def row(self, index: int) -> str | None:
        """Where a link to a row leads; None when it is not in the page."""
        return f"#{row_anchor(index)}" if index in self.known else None

    def _add(self, anchor: str, claim: Claim, item: Evidence) -> None:
        index, place = item.message_index, None
        if index in self._texts:
            if index not in self._said:
                self._said[index] = Said(self._texts[index])
            place = self._said[index].find(item.quote)
        mark = Mark(anchor, claim, item, *(place or (0, 0)))
        self._by_row[index].append(mark)
        self._by_claim[claim.anchor].append(mark)


_Claimed = tuple[Claim, Sequence[Evidence]]


def _judged(report: Report | None) -> Iterator[_Claimed]:
    for verdict in in_reading_order(report) if report is not None else ():
        name = wording.mode_name(verdict)
        anchor = verdict_anchor(verdict.slug)
        yield Claim(anchor, name, verdict.mode, verdict.verdict), verdict.evidence


def _attributed(attribution: Attribution | None) -> Iterator[_Claimed]:
    if attribution is None:
        return
    if attribution.step is not None:
        name = f"the step that decided, #{attribution.step}"
        tag = f"decided at #{attribution.step}"
        yield Claim(ATTRIBUTION_ANCHOR, name, tag, "decisive"), attribution.evidence
    for candidate in weighed(attribution):
        name = f"a step that was weighed, #{candidate.step}"
        tag = f"weighed: #{candidate.step}"
        yield Claim(candidate_anchor(candidate.step), name, tag, "weighed"), candidate.evidence
