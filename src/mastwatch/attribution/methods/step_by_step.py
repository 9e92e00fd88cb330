"""Step by step: of each step in turn, with all before it, whether it is the error.

As in Who&When (arXiv 2505.00212, section 4): the first step that is said to be one is the answer.
Up to one call per step. A step on which nothing readable was said is no pass: where no later step
is named either, the run is not evaluated.
"""

from __future__ import annotations

from mastwatch.attribution import prompt
from mastwatch.attribution.case import Case, Found
from mastwatch.attribution.forms import STEP
from mastwatch.attribution.said import Proposal, StepSaid
from mastwatch.judge.answers import Answer
from mastwatch.judge.evidence import MIN_CHARS

_FINAL = ("budget", "auth", "unreachable")
"""After one of these the next step would fare no better."""


async def run(case: Case) -> Found:
    """Find the first step that is said to be an error."""
    unread: list[int] = []
    failure = ""
    for position, step in enumerate(case.steps.numbers):
        answer = await _ask(case, step, position)
        said = answer.parsed
        if said is None:
            unread.append(step)
            failure = failure or answer.failure or "provider_error"
            if answer.failure in _FINAL:
                break
        elif said.error == "yes":
            proposal = Proposal(step=step, reason=said.reason, quote=said.quote)
            chosen = case.candidate(proposal)
            if chosen is not None:
                return Found(
                    result="attributed",
                    chosen=chosen,
                    candidates=(chosen,),
                    problems=_problems(unread),
                )
    if failure:
        return Found(result="not_evaluated", reason=failure, problems=_problems(unread))
    return Found(result="none", reason="no_error")


def _problems(unread: list[int]) -> tuple[str, ...]:
    if not unread:
        return ()
    rows = ", ".join(f"#{step}" for step in unread[:8])
    return (f"nothing readable on {len(unread)} earlier steps ({rows})",)


async def _ask(case: Case, step: int, position: int) -> Answer[StepSaid]:
    word = case.frame_word()
    row = position if case.paper else step
    system = prompt.step(word, row=row, min_chars=MIN_CHARS, paper=case.paper)
    return await case.ask(STEP, system, case.views.until(step), word)
