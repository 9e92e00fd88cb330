"""What can be had without any model: whoever is no better than these has found nothing.

The constants were picked on the labels of Who&When, so on these they are slightly optimistic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from mastwatch.attribution.steps import normal_name
from mastwatch.evaluation.attribution.cases import CRAFTED, Labelled
from mastwatch.evaluation.attribution.score import METRICS, OF_ONE_STEP, Answered

TERMINAL = "Computer_terminal"
SURFER = "WebSurfer"
CHAIRMAN = "Orchestrator"
DIGITS = "1234567890"
"""An answer that the published metric counts as right for any step of one digit."""
_OF_AGENTS = ("agent", "substring_agent")
_OF_STEPS = ("step", "within_1", "substring_step")


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """A rule that reads no word of a run.

    Attributes:
        name: What it does; empty for a rule that is for hand-crafted runs alone.
        crafted: What it does on hand-crafted runs.
        answer: The rule.
        metrics: Those that have a meaning for its answers.
    """

    name: str = ""
    crafted: str
    answer: Callable[[Labelled], Answered]
    metrics: tuple[str, ...] = tuple(METRICS)

    def called(self, subsets: Sequence[str]) -> str:
        """Its name in a table of runs of these subsets; empty where it does not belong."""
        if all(subset == CRAFTED for subset in subsets):
            return self.crafted
        mixed = CRAFTED in subsets and self.name and self.name != self.crafted
        return f"{self.name} / {self.crafted}" if mixed else self.name


def frequent(case: Labelled) -> Answered:
    """Who speaks most often; ties go to the first seen, and the terminal does not count.

    Of hand-crafted runs: WebSurfer if it speaks, else Orchestrator.
    """
    if case.subset == CRAFTED:
        speaks = any(row.agent == SURFER for row in case.trace.rows)
        return Answered(agent=SURFER if speaks else CHAIRMAN)
    counts = Counter(row.agent for row in case.trace.rows if row.agent != TERMINAL)
    most = counts.most_common(1)
    return Answered(agent=most[0][0] if most else "")


def constant(case: Labelled) -> Answered:
    """Step 1 and its speaker; the top three are the first three rows that are not the terminal's.

    Of hand-crafted runs: WebSurfer's first row, and its first three.
    """
    if case.subset == CRAFTED:
        turns = tuple(row.index for row in case.trace.rows if row.agent == SURFER)
        return _at(case, turns[0] if turns else None, turns[:3])
    turns = tuple(row.index for row in case.trace.rows if row.agent != TERMINAL)
    return _at(case, 1, turns[:3])


def always(step: int) -> Callable[[Labelled], Answered]:
    """Makes the rule that says one and the same step of every run."""
    return lambda case: _at(case, step, ())


def _at(case: Labelled, step: int | None, top: tuple[int, ...]) -> Answered:
    speaker = next((row.agent for row in case.trace.rows if row.index == step), None)
    return Answered(step=None if speaker is None else step, agent=speaker or "", top=top)


BASELINES: tuple[Baseline, ...] = (
    Baseline(
        name="most frequent speaker",
        crafted="WebSurfer, else Orchestrator",
        answer=frequent,
        metrics=_OF_AGENTS,
    ),
    Baseline(name="constant step 1", crafted="first WebSurfer row", answer=constant),
    Baseline(crafted="constant step 4", answer=always(4), metrics=OF_ONE_STEP),
    Baseline(crafted="constant step 8", answer=always(8), metrics=OF_ONE_STEP),
    Baseline(
        name=f'the string "{DIGITS}"',
        crafted=f'the string "{DIGITS}"',
        answer=lambda case: Answered(text_step=DIGITS),
        metrics=(*_OF_STEPS, "undefined"),
    ),
)


def by_chance(
    cases: Sequence[Labelled], name: Callable[[str], str] = normal_name
) -> dict[str, Any]:
    """What drawing by lot is right on, exactly: a step of the run, and one of its names.

    One name is taken for the labelled agent's: as they are logged an agent may have several, and
    none of them may be written as the label is.

    Args:
        cases: The runs.
        name: What counts as one name; as it is logged: ``str``.

    Returns:
        As ``score``, with nothing but ``share``.
    """
    odds = [_odds(case, name) for case in cases]
    shares = {
        metric: {"share": float(sum(odd[metric] for odd in odds) / len(odds)) if odds else None}
        for metric in ("step", "agent", "joint", "within_1", "top_3", "substring_step")
    }
    return {"runs": len(cases), **shares, "calls": 0.0, "tokens": 0.0}


def _odds(case: Labelled, name: Callable[[str], str]) -> dict[str, Fraction]:
    steps = [row.index for row in case.trace.rows]
    n = max(1, len(steps))
    odds = {
        metric: Fraction(sum(METRICS[metric](case, Answered(step=s)) for s in steps), n)
        for metric in _OF_STEPS
    }
    speaks = normal_name(case.agent) in map(normal_name, case.speakers)
    odds["agent"] = Fraction(speaks, max(1, len(set(map(name, case.speakers)))))
    odds["joint"] = odds["step"] * odds["agent"]
    odds["top_3"] = odds["step"] * min(3, n)  # three drawn, none of them twice
    return odds
