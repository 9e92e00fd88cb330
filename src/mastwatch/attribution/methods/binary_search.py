"""Binary search: in which half of a segment the error lies, until one step is left.

As in Who&When (arXiv 2505.00212, section 4): ceil(log2 n) calls for n steps; each shows one segment
and nothing else of the run. A reply that decides for neither half is asked for once more, and then
the result is undefined: nothing is drawn by lot.
"""

from __future__ import annotations

from collections.abc import Sequence

from mastwatch.attribution import prompt
from mastwatch.attribution.case import Case, Found
from mastwatch.attribution.forms import HALF
from mastwatch.attribution.said import Half, Proposal
from mastwatch.attribution.views import unnumbered


async def run(case: Case) -> Found:
    """Find the step by halving."""
    left = list(case.steps.numbers)
    reason = ""
    while len(left) > 1:
        upper, lower = left[: (len(left) + 1) // 2], left[(len(left) + 1) // 2 :]
        half, reason, failure = await _half(case, left, upper, lower)
        if failure:
            return Found(result="not_evaluated", reason=failure)
        left = upper if half == "first" else lower
    chosen = case.candidate(Proposal(step=left[0], reason=reason)) if left else None
    if chosen is None:
        return Found(result="none", reason="no_error")
    return Found(result="attributed", chosen=chosen, candidates=(chosen,))


async def _half(
    case: Case, segment: Sequence[int], upper: Sequence[int], lower: Sequence[int]
) -> tuple[Half, str, str]:
    """The half, why, and why there is none."""
    window = case.views.segment(segment)
    base = segment[0] if case.paper else 0  # the paper's segments are counted from their own start
    for sample in range(1 if case.paper else 2):
        word = case.frame_word()
        system = prompt.half(
            word,
            first=segment[0] - base,
            middle=upper[-1] - base,
            after=lower[0] - base,
            last=segment[-1] - base,
            paper=case.paper,
        )
        shown = unnumbered(window, case.trace) if case.paper else window
        answer = await case.ask(HALF, system, shown, word, sample=sample)
        said = answer.parsed
        if said is None:
            return "unclear", "", answer.failure or "provider_error"
        if said.half != "unclear":
            return said.half, said.reason, ""
    # The released code takes the upper half where its reading fails (its local path).
    return ("first", "", "") if case.paper else ("unclear", "", "ambiguous")
