"""Scores answers on labelled runs: exact first, and the published metric beside it.

All shares are of all runs; an answer that is undefined is wrong. The published metric of Who&When
asks whether the label's text stands anywhere in the answer's text (``actual in predicted``), so
that ``12`` counts as right for step 1; it is here to compare with published figures only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mastwatch.attribution.steps import normal_name
from mastwatch.evaluation.attribution.cases import Labelled
from mastwatch.evaluation.scoring import wilson
from mastwatch.store import Attribution

_WORD = re.compile(r"\w*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What a method says of one run.

    Attributes:
        step: The step; None where it is undefined.
        agent: The agent; empty where it is undefined.
        top: Up to three steps, the best first; the step alone when empty.
        calls, tokens: What it took.
        text_step, text_agent: What the published metric is given, where that differs.
    """

    step: int | None = None
    agent: str = ""
    top: tuple[int, ...] = ()
    calls: int = 0
    tokens: int = 0
    text_step: str = ""
    text_agent: str = ""


def answered(found: Attribution) -> Answered:
    """What an attribution says."""
    steps = [found.step, *(candidate.step for candidate in found.candidates)]
    top = dict.fromkeys(step for step in steps if step is not None)
    # All at once the paper takes the agent from the reply, whoever speaks in the step.
    said = found.named_agent if found.method == "all_at_once" else ""
    return Answered(
        step=found.step,
        agent=found.agent,
        top=tuple(top)[:3] if found.step is not None else (),
        calls=found.usage.calls,
        tokens=found.usage.input_tokens + found.usage.output_tokens,
        text_agent=said,
    )


def same_agent(answer: str, label: str) -> bool:
    """Whether two names mean one agent.

    >>> same_agent("Orchestrator", "Orchestrator (thought)"), same_agent("", "")
    (True, False)
    """
    return bool(answer) and normal_name(answer) == normal_name(label)


def _step(case: Labelled, answer: Answered) -> bool:
    return answer.step == case.step


def _agent(case: Labelled, answer: Answered) -> bool:
    return same_agent(answer.agent, case.agent)


def _joint(case: Labelled, answer: Answered) -> bool:
    return _step(case, answer) and _agent(case, answer)


def _within_1(case: Labelled, answer: Answered) -> bool:
    return answer.step is not None and abs(answer.step - case.step) <= 1


def _top_3(case: Labelled, answer: Answered) -> bool:
    return case.step in (answer.top[:3] or (answer.step,))


def _undefined(case: Labelled, answer: Answered) -> bool:
    return answer.step is None


def _substring_step(case: Labelled, answer: Answered) -> bool:
    said = "" if answer.step is None else str(answer.step)
    return str(case.step) in (answer.text_step or said)


def _substring_agent(case: Labelled, answer: Answered) -> bool:
    # The published code reads letters, digits and underscores: a hyphen ends a name.
    word = _WORD.match(answer.text_agent or answer.agent)
    return word is not None and case.agent in word[0]


METRICS: Mapping[str, Callable[[Labelled, Answered], bool]] = {
    "step": _step,
    "agent": _agent,
    "joint": _joint,
    "within_1": _within_1,
    "top_3": _top_3,
    "undefined": _undefined,
    "substring_step": _substring_step,
    "substring_agent": _substring_agent,
}
"""When an answer counts, by metric; ``substring_…`` are the published ones."""
OF_ONE_STEP = tuple(name for name in METRICS if name != "top_3")
"""Those that have a meaning where no second step is ever named."""


def score(
    cases: Sequence[Labelled], answers: Sequence[Answered], metrics: Sequence[str] = tuple(METRICS)
) -> dict[str, Any]:
    """Count how often answers are right.

    Args:
        cases: The runs.
        answers: One for each, in the same order.
        metrics: Those that have a meaning for these answers.

    Returns:
        ``runs``, ``calls`` and ``tokens`` per run, and for each metric ``hits``, ``share`` and the
        ends of Wilson's 95 % interval, ``low`` and ``high``.
    """
    pairs = list(zip(cases, answers, strict=True))
    result: dict[str, Any] = {"runs": len(pairs)}
    for name in metrics:
        result[name] = _share(sum(METRICS[name](c, a) for c, a in pairs), len(pairs))
    for name in ("calls", "tokens"):
        result[name] = sum(getattr(a, name) for _, a in pairs) / len(pairs) if pairs else None
    return result


def _share(hits: int, n: int) -> dict[str, Any]:
    low, high = wilson(hits, n) or (None, None)
    return {"hits": hits, "share": hits / n if n else None, "low": low, "high": high}


def between_people(cases: Sequence[Labelled]) -> dict[str, Any]:
    """How the second annotation answers the first: what a method can be held to at most.

    The two follow different definitions (decisive mistake, root cause), so it is a lower bound.
    """
    both = [(case, case.again) for case in cases if case.again is not None]
    row = score(
        [case for case, _ in both],
        [Answered(step=step, agent=agent) for _, (step, agent) in both],
        OF_ONE_STEP,
    )
    return {**row, "calls": None, "tokens": None}
