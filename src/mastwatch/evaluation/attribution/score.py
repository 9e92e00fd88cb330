"""Scores answers on labelled runs: exact first, and the published metric beside it.

All shares are of all runs; an answer that is undefined is wrong. The published metric of Who&When
asks whether the label's text stands anywhere in the answer's text (``actual in predicted``), so
that ``12`` counts as right for step 1; it is here to compare with published figures only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mastwatch.attribution.steps import normal_name
from mastwatch.evaluation.attribution.cases import Labelled
from mastwatch.evaluation.scoring import wilson


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What a method says of one run.

    Attributes:
        step: The step; None where it is undefined.
        agent: The agent; empty where it is undefined.
        top: Up to three steps, the best first; the step alone when empty.
        calls, tokens: What it took.
        legacy_step, legacy_agent: What the published metric is given, where that differs.
    """

    step: int | None = None
    agent: str = ""
    top: tuple[int, ...] = ()
    calls: int = 0
    tokens: int = 0
    legacy_step: str = ""
    legacy_agent: str = ""


def score(cases: Sequence[Labelled], answers: Sequence[Answered]) -> dict[str, Any]:
    """Count how often answers are right.

    Args:
        cases: The runs.
        answers: One for each, in the same order.
    """
    pairs = list(zip(cases, answers, strict=True))
    n = len(pairs)
    told = {
        "step": sum(a.step == c.step for c, a in pairs),
        "agent": sum(same_agent(a.agent, c.agent) for c, a in pairs),
        "joint": sum(a.step == c.step and same_agent(a.agent, c.agent) for c, a in pairs),
        "within_1": sum(a.step is not None and abs(a.step - c.step) <= 1 for c, a in pairs),
        "top_3": sum(c.step in _top(a) for c, a in pairs),
        "undefined": sum(a.step is None for _, a in pairs),
        "legacy_step": sum(str(c.step) in _legacy(a.legacy_step, a.step) for c, a in pairs),
        "legacy_agent": sum(c.agent in (a.legacy_agent or a.agent) for c, a in pairs),
    }
    result: dict[str, Any] = {"runs": n, **told}
    for name in ("step", "agent"):
        low, high = wilson(told[name], n) or (None, None)
        result[f"{name}_low"], result[f"{name}_high"] = low, high
    result["calls"] = sum(a.calls for _, a in pairs) / n if n else None
    result["tokens"] = sum(a.tokens for _, a in pairs) / n if n else None
    return result


def same_agent(answer: str, label: str) -> bool:
    """Whether two names mean one agent.

    >>> same_agent("Orchestrator", "Orchestrator (thought)"), same_agent("", "")
    (True, False)
    """
    return bool(answer) and normal_name(answer) == normal_name(label)


def between_people(cases: Sequence[Labelled]) -> dict[str, Any]:
    """How the second annotation answers the first: what a method can be held to at most.

    The two follow different definitions (decisive mistake, root cause), so it is a lower bound.
    """
    both = [case for case in cases if case.again is not None]
    answers = [Answered(step=c.again[0], agent=c.again[1]) for c in both if c.again]
    return score(both, answers)


def _top(answer: Answered) -> tuple[int, ...]:
    return answer.top[:3] or (() if answer.step is None else (answer.step,))


def _legacy(text: str, step: int | None) -> str:
    return text or ("" if step is None else str(step))
