"""Propose and verify: a few candidate steps, each looked at closely; the earliest survivor wins.

One call proposes (one per window of a long run), one more checks each candidate on its own
neighbourhood and an outline of the rest. A candidate survives when its row holds an error, the run
was not lost before it, doing it right would have saved the run, and a quote bears that out.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from mastwatch.attribution import prompt
from mastwatch.attribution.case import Case, Found
from mastwatch.attribution.forms import CHECK, PROPOSALS
from mastwatch.attribution.said import Checked, Proposals
from mastwatch.judge.answers import Answer
from mastwatch.judge.evidence import MIN_CHARS
from mastwatch.judge.render import behind_bars
from mastwatch.judge.windows import Window
from mastwatch.store import Candidate

_UNREAD = "the check gave nothing readable"


async def run(case: Case) -> Found:
    """Propose steps, check each, choose the earliest that survives."""
    answers = await asyncio.gather(*(_propose(case, window) for window in case.views.whole()))
    failure = next((answer.failure for answer in answers if answer.failure), None)
    proposed = [step for answer in answers if answer.parsed for step in answer.parsed.steps]
    candidates = _best(case, [c for step in proposed if (c := case.candidate(step)) is not None])
    if not candidates:
        if failure is not None:
            return Found(result="not_evaluated", reason=failure)
        return Found(result="none", reason="no_such_step" if proposed else "no_error")
    checked = list(await asyncio.gather(*(_check(case, candidate) for candidate in candidates)))
    survivors = [candidate for candidate in checked if candidate.check == "survived"]
    problems = (f"a part of the run gave no proposals: {failure}",) if failure else ()
    chosen = min(survivors, key=lambda c: c.step) if survivors else checked[0]
    return Found(
        result="attributed" if survivors else "unverified",
        chosen=chosen,
        candidates=tuple(checked),
        problems=problems,
    )


def _best(case: Case, candidates: list[Candidate]) -> list[Candidate]:
    """The surest candidates, each step once; the model's order decides where it is no surer."""
    by_step: dict[int, Candidate] = {}
    for candidate in sorted(candidates, key=lambda c: -(c.confidence or 0.0)):
        by_step.setdefault(candidate.step, candidate)
    return list(by_step.values())[: case.settings.candidates]


async def _propose(case: Case, window: Window) -> Answer[Proposals]:
    word = case.frame_word()
    count, part = case.settings.candidates, bool(window.outline)
    system = prompt.propose(word, count=count, min_chars=MIN_CHARS, part=part)
    return await case.ask(PROPOSALS, system, window, word, more=case.hints())


async def _check(case: Case, candidate: Candidate) -> Candidate:
    rows = case.steps.near(candidate.step, case.settings.neighbours)
    rows += [item.message_index for item in candidate.evidence]
    word = case.frame_word()
    claim = [behind_bars(text) for text in (candidate.reason, candidate.counterfactual) if text]
    answer = await case.ask(
        CHECK,
        prompt.check(word, step=candidate.step, min_chars=MIN_CHARS),
        case.views.near(rows),
        word,
        more={"The claim": claim},
    )
    if answer.parsed is None:
        return replace(candidate, objection=answer.problem or _UNREAD)
    return _judged(case, candidate, answer.parsed)


def _judged(case: Case, candidate: Candidate, said: Checked) -> Candidate:
    added = [item for item in case.evidence(said.quote) if item not in candidate.evidence]
    candidate = replace(candidate, evidence=(*candidate.evidence, *added))
    if said.error == "no" or said.doomed == "yes" or said.saves == "no":
        return replace(candidate, check="refuted", objection=said.why)
    if (said.error, said.doomed, said.saves) == ("yes", "no", "yes") and candidate.evidence:
        return replace(candidate, check="survived")
    return replace(candidate, objection=said.why or "the check was not sure")
