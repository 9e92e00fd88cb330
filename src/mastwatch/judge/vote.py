"""From checked opinions to one verdict per mode."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from mastwatch.findings import Severity
from mastwatch.judge.evidence import Rows
from mastwatch.judge.modes import JudgedMode
from mastwatch.judge.rules import broken_rule, remark
from mastwatch.judge.schema import Opinion
from mastwatch.store import Evidence, Trace, Verdict


@dataclass(slots=True)
class Counts:
    """What became of the quotes."""

    verified: int = 0
    repaired: int = 0
    rejected: int = 0

    def as_dict(self) -> dict[str, int]:
        """As they stand in a report."""
        return {"verified": self.verified, "repaired": self.repaired, "rejected": self.rejected}


def checked(
    mode: JudgedMode, opinion: Opinion, rows: Rows, trace: Trace, counts: Counts
) -> Verdict:
    """Check an opinion's evidence; ``present`` without enough of it becomes ``unsure``."""
    evidence: list[Evidence] = []
    for quote in opinion.quotes:
        found = rows.check(quote)
        if found is None:
            counts.rejected += 1
        else:
            evidence.append(found)
            setattr(counts, found.status, getattr(counts, found.status) + 1)
    verdict = Verdict(
        slug=mode.slug,
        mode=mode.code,
        verdict=opinion.word,
        reason="conflict" if opinion.conflict else "",
        confidence=opinion.confidence,
        evidence=tuple(dict.fromkeys(evidence)),
        why=opinion.why,
    )
    if opinion.word != "present":
        return verdict
    broken = broken_rule(mode.slug, verdict.evidence, trace)
    if broken:
        return replace(verdict, verdict="unsure", reason=broken)
    return replace(verdict, reason=remark(mode.slug, trace))


def merged(mode: JudgedMode, verdicts: Sequence[Verdict], failure: str) -> Verdict:
    """One verdict from those on the windows of a run.

    What one window shows the run shows. ``absent`` takes all windows: where one was not answered
    (``failure`` says why), the mode was not evaluated.
    """
    present = [v for v in verdicts if v.verdict == "present"]
    if present:
        best = max(present, key=lambda v: v.confidence or 0.0)
        evidence = tuple(dict.fromkeys(item for v in present for item in v.evidence))
        return replace(best, evidence=evidence)
    if failure or not verdicts:
        return not_evaluated(mode, failure or "missing")
    unsure = [v for v in verdicts if v.verdict == "unsure"]
    chosen = unsure or list(verdicts)
    return min(chosen, key=lambda v: v.confidence if v.confidence is not None else 0.0)


def not_evaluated(mode: JudgedMode, reason: str) -> Verdict:
    """No verdict could be reached."""
    return Verdict(slug=mode.slug, mode=mode.code, verdict="not_evaluated", reason=reason)


def majority(votes: Sequence[Verdict]) -> Verdict:
    """The verdict that more than half of the votes give; without one it is ``unsure``.

    Votes that were not evaluated do not count, unless all are.
    """
    cast = [v for v in votes if v.verdict != "not_evaluated"]
    if not cast:
        return votes[0]
    word, count = Counter(v.verdict for v in cast).most_common(1)[0]
    split = f"{count}/{len(cast)}" if len(cast) > 1 else ""
    if 2 * count <= len(cast):
        return replace(cast[0], verdict="unsure", reason="split_vote", votes=split)
    agreeing = [v for v in cast if v.verdict == word]
    best = max(agreeing, key=lambda v: v.confidence or 0.0)
    evidence = tuple(dict.fromkeys(item for v in agreeing for item in v.evidence))
    return replace(best, votes=split, evidence=evidence)


def in_doubt(verdict: Verdict, threshold: float, detected: Mapping[str, Severity]) -> bool:
    """Whether a verdict is to be asked again.

    It is unsure, less sure than ``threshold``, or it says ``absent`` where a live detector warned.
    """
    if verdict.verdict == "not_evaluated":
        return False
    if verdict.verdict == "unsure" or verdict.confidence is None:
        return True
    if verdict.confidence < threshold:
        return True
    warned = detected.get(verdict.slug, Severity.INFO) >= Severity.WARN
    return warned and verdict.verdict == "absent"


def detected(trace: Trace) -> dict[str, Severity]:
    """The highest severity at which live detectors flagged each mode."""
    worst: dict[str, Severity] = {}
    for finding in trace.findings:
        if finding.source == "detector":
            worst[finding.slug] = max(worst.get(finding.slug, finding.severity), finding.severity)
    return worst
