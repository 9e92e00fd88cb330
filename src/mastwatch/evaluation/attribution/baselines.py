"""What can be had without any model: whoever is no better than these has found nothing.

The constants were picked on the same labels, so they are slightly optimistic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction

from mastwatch.attribution.steps import normal_name
from mastwatch.evaluation.attribution.cases import CRAFTED, Labelled
from mastwatch.evaluation.attribution.score import Answered

TERMINAL = "Computer_terminal"
SURFER = "WebSurfer"
CHAIRMAN = "Orchestrator"
LEGACY = "1234567890"
"""An answer that the published metric counts as right for any step of one digit."""


def frequent(case: Labelled) -> Answered:
    """Who speaks most often; ties go to the first seen, and the terminal does not count.

    Of hand-crafted runs: WebSurfer if it speaks, else Orchestrator.
    """
    if case.subset == CRAFTED:
        speaks = any(normal_name(name) == SURFER for name in case.speakers)
        return Answered(agent=SURFER if speaks else CHAIRMAN)
    counts = Counter(name for name in case.speakers if name != TERMINAL)
    most = counts.most_common(1)
    return Answered(agent=most[0][0] if most else "")


def constant(case: Labelled) -> Answered:
    """Step 1 and its speaker; the top three are the first three rows that are not the terminal's.

    Of hand-crafted runs: WebSurfer's first row, and its first three.
    """
    rows = case.trace.rows
    if case.subset == CRAFTED:
        turns = [row.index for row in rows if row.agent == SURFER]
        return _at(case, turns[0] if turns else None, tuple(turns[:3]))
    turns = [row.index for row in rows if row.agent != TERMINAL]
    return _at(case, rows[1].index if len(rows) > 1 else None, tuple(turns[:3]))


def digits(case: Labelled) -> Answered:
    """The string ``1234567890``: what the published metric makes of an answer that is none."""
    return Answered(legacy_step=LEGACY, legacy_agent=LEGACY)


BASELINES: dict[str, Callable[[Labelled], Answered]] = {
    "most frequent speaker": frequent,
    "constant step": constant,
    f'the string "{LEGACY}"': digits,
}


def by_chance(case: Labelled) -> tuple[Fraction, Fraction]:
    """The odds that a step, and that an agent, drawn by lot is right."""
    agents = list(dict.fromkeys(case.speakers))
    right = sum(name == case.agent for name in agents)
    return Fraction(1, len(case.trace.rows)), Fraction(right, len(agents))


def _at(case: Labelled, step: int | None, top: tuple[int, ...]) -> Answered:
    speaker = next((row.agent for row in case.trace.rows if row.index == step), "")
    return Answered(step=step, agent=speaker, top=top)
