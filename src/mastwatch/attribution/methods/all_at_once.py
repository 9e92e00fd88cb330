"""All at once: one question about the whole run.

As in Who&When (arXiv 2505.00212, section 4): the log and one question for agent, step and reason.
One call; for a run that does not fit into one window, one for each, and the surest answer counts.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from mastwatch.attribution import prompt
from mastwatch.attribution.case import Case, Found
from mastwatch.attribution.forms import CHOICE
from mastwatch.attribution.said import Proposal, Proposals
from mastwatch.attribution.views import unnumbered
from mastwatch.judge.answers import Answer
from mastwatch.judge.windows import Window


async def run(case: Case) -> Found:
    """Find the step in one go."""
    windows = case.views.whole()
    answers = await asyncio.gather(*(_ask(case, window) for window in windows))
    failure = next((answer.failure for answer in answers if answer.failure), None)
    named = [
        _placed(step, window) if case.paper else step
        for window, answer in zip(windows, answers, strict=True)
        if answer.parsed
        for step in answer.parsed.steps
    ]
    candidates = [found for step in named if (found := case.candidate(step)) is not None]
    candidates.sort(key=lambda c: (-(c.confidence or 0.0), c.step))
    if candidates:
        return Found(result="attributed", chosen=candidates[0], candidates=tuple(candidates))
    if failure is not None:
        return Found(result="not_evaluated", reason=failure)
    if named:
        return Found(result="none", reason="no_such_step")
    return Found(result="none", reason="no_error")


def _placed(step: Proposal, window: Window) -> Proposal:
    """A step that is a position among the shown rows, counted from 0, under its own number."""
    rows = list(dict.fromkeys(piece.index for piece in window.pieces))
    inside = step.step is not None and 0 <= step.step < len(rows)
    return replace(step, step=rows[step.step] if inside and step.step is not None else None)


async def _ask(case: Case, window: Window) -> Answer[Proposals]:
    word = case.frame_word()
    system = prompt.all_at_once(word, part=bool(window.outline), paper=case.paper)
    shown = unnumbered(window, case.trace) if case.paper else window
    return await case.ask(CHOICE, system, shown, word, more=case.hints())
