"""Scripted models: they answer every method's questions out of one opinion, offline.

What each must score is known, so they test the scoring, the methods and the way between them. None
of their figures says anything about a model.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from mastwatch.evaluation.attribution.cases import Labelled
from mastwatch.judge.client import Ask, Reply
from mastwatch.judge.render import row_text, visible
from mastwatch.judge.windows import tokens

_QUOTE_CHARS = 100
Opinion: TypeAlias = Callable[[Labelled, str], int | None]
"""The step a model blames in a run, and None for none; the second argument seeds its luck."""


class Scripted:
    """A model that blames one step of one run, however it is asked; good for one attribution.

    Args:
        case: The run.
        step: What it blames; None for nothing.
        name: The model's name.
        paper: The questions are those of ``compat="paper"``: all at once, rows bear no numbers.
    """

    provider = "scripted"
    address = "scripted:"

    def __init__(self, case: Labelled, step: int | None, name: str, *, paper: bool = False) -> None:
        self.model = name
        self._rows = {row.index: row for row in case.trace.rows}
        self._numbers = list(self._rows)
        self._step = step
        self._paper = paper
        self._ahead = iter(self._numbers)
        self._segment = self._numbers
        self._answers: Mapping[str, Callable[[], dict[str, Any]]] = {
            "proposals": self._proposals,
            "check": self._check,
            "choice": self._choice,
            "step": self._next_step,
            "half": self._half,
        }

    async def complete(self, ask: Ask) -> Reply:
        """Answer one question."""
        text = json.dumps(self._answers[ask.schema_name](), ensure_ascii=False)
        sent, came = tokens(ask.system + ask.user), tokens(text)
        return Reply(text=text, model=self.model, input_tokens=sent, output_tokens=came)

    async def close(self) -> None:
        """Nothing to let go of."""

    def _named(self, step: int | None) -> dict[str, Any]:
        return {"step": step, "agent": "", "reason": "scripted", "confidence": 0.9}

    def _proposals(self) -> dict[str, Any]:
        if self._step is None:
            return {"candidates": []}
        said = {**self._named(self._step), "counterfactual": "scripted", "evidence": self._quote()}
        return {"candidates": [said]}

    def _check(self) -> dict[str, Any]:
        said = {"is_error": "yes", "lost_before": "no", "saves": "yes"}
        return {**said, "evidence": self._quote(), "why": "scripted"}

    def _choice(self) -> dict[str, Any]:
        step = self._step
        if self._paper and step in self._rows:
            step = self._numbers.index(step)
        return self._named(step)

    def _next_step(self) -> dict[str, Any]:
        blamed = next(self._ahead, None) == self._step
        error = "yes" if blamed and self._step is not None else "no"
        return {"error": error, "reason": "scripted", "evidence": self._quote()}

    def _half(self) -> dict[str, Any]:
        upper = self._segment[: (len(self._segment) + 1) // 2]
        lower = self._segment[len(upper) :]
        if self._step not in self._segment:
            return {"half": "unclear", "reason": "scripted"}
        self._segment = upper if self._step in upper else lower
        half = "first" if self._segment is upper else "second"
        return {"half": half, "reason": "scripted"}

    def _quote(self) -> dict[str, Any]:
        row = self._rows.get(self._step) if self._step is not None else None
        words = visible(row_text(row)).strip()[:_QUOTE_CHARS].strip() if row else ""
        return {"msg": self._step or 0, "quote": words}


def oracle(case: Labelled, seed: str) -> int | None:
    """Blames the labelled step."""
    return case.step


def silent(case: Labelled, seed: str) -> int | None:
    """Sees no error anywhere."""
    return None


def first(case: Labelled, seed: str) -> int | None:
    """Blames step 1, as the baseline does."""
    return 1


def noisy(share: float) -> Opinion:
    """Makes a model that blames another step than the labelled one in a share of the runs."""

    def opinion(case: Labelled, seed: str) -> int | None:
        draw = random.Random(f"{seed}:{case.trace.run_id}")
        others = [row.index for row in case.trace.rows if row.index != case.step]
        return draw.choice(others) if draw.random() < share and others else case.step

    return opinion


MODELS: Mapping[str, Opinion] = {"oracle": oracle, "silent": silent, "first": first}
"""By name; ``noisy:0.2`` beside them."""


def scripted(name: str) -> Opinion:
    """Look a scripted model up.

    Raises:
        ValueError: There is none of this name.

    >>> scripted("oracle") is oracle
    True
    """
    if name in MODELS:
        return MODELS[name]
    kind, _, share = name.partition(":")
    try:
        if kind == "noisy" and 0 <= float(share or 0.2) <= 1:
            return noisy(float(share or 0.2))
    except ValueError:
        pass
    raise ValueError(f"{name!r} is no scripted model; known: {', '.join(MODELS)}, noisy:0.2")
