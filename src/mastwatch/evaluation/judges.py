"""Scripted judges: what a perfect, a noisy, a lying or a lazy model would answer, offline.

Theory says what each must score, so they test the scoring and the judge around the model. None of
their figures says anything about a model.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from typing import Any

from mastwatch.evaluation.injections import INJECTIONS
from mastwatch.evaluation.judge_cases import JudgedCase
from mastwatch.findings import Severity
from mastwatch.judge.client import Ask, Reply
from mastwatch.judge.render import row_text, visible
from mastwatch.judge.windows import tokens
from mastwatch.store import TraceRow

_QUOTE_CHARS = 100
_LEAST_CHARS = 12
_SURE = 0.95

Opinion = dict[str, Any]


class Scripted:
    """A model that knows the run it is asked about.

    Args:
        case: The run, and what is true of it.
        says: For a slug: whether the mode is present.
        name: The model's name.
        quotes: What is quoted for ``present``; rows of the run by default.
    """

    provider = "scripted"
    address = "scripted:"

    def __init__(
        self,
        case: JudgedCase,
        says: Callable[[str], bool],
        name: str,
        quotes: Callable[[JudgedCase], list[dict[str, Any]]] | None = None,
    ) -> None:
        self.model = name
        self._case = case
        self._says = says
        self._quotes = quotes or real_quotes

    async def complete(self, ask: Ask) -> Reply:
        """Answer for every mode that is asked about."""
        slugs = ask.schema["properties"]["modes"]["properties"]
        modes = {slug: self._opinion(self._says(slug)) for slug in slugs}
        text = json.dumps({"modes": modes, "task_completed": "unclear"}, ensure_ascii=False)
        sent, came = tokens(ask.system + ask.user), tokens(text)
        return Reply(text=text, model=self.model, input_tokens=sent, output_tokens=came)

    async def close(self) -> None:
        """Nothing to let go of."""

    def _opinion(self, present: bool) -> Opinion:
        evidence = self._quotes(self._case) if present else []
        word = "present" if present else "absent"
        return {"verdict": word, "confidence": _SURE, "evidence": evidence, "why": "scripted"}


def real_quotes(case: JudgedCase) -> list[dict[str, Any]]:
    """Words that stand in the run: of the fault, of an agent, and at the end."""
    rows = {row.index: row for row in case.trace.rows if _quotable(row)}
    spoken = [row.index for row in rows.values() if row.kind == "reply"]
    wanted = [case.onset, case.sure, *spoken[len(spoken) // 2 :][:1], *list(rows)[-1:]]
    chosen = [rows[index] for index in dict.fromkeys(wanted) if index in rows]
    return [{"msg": row.index, "quote": _words(row)} for row in chosen]


def _quotable(row: TraceRow) -> bool:
    return len(_words(row)) >= _LEAST_CHARS


def _words(row: TraceRow) -> str:
    return visible(row_text(row)).strip()[:_QUOTE_CHARS].strip()


def invented_quotes(case: JudgedCase) -> list[dict[str, Any]]:
    """Words that stand in no run."""
    return [
        {"msg": n, "quote": f"the zeppelin number {n} refused to inflate its own umbrella"}
        for n in (0, 1, case.trace.rows[-1].index)
    ]


def perfect(case: JudgedCase, seed: str) -> Scripted:
    """Says what is true."""
    return Scripted(case, lambda slug: slug == case.slug, "perfect")


def lazy(case: JudgedCase, seed: str) -> Scripted:
    """Says that nothing is wrong, which is right most of the time."""
    return Scripted(case, lambda slug: False, "lazy")


def lying(case: JudgedCase, seed: str) -> Scripted:
    """Says that everything is wrong, and invents the proof."""
    return Scripted(case, lambda slug: True, "lying", invented_quotes)


def detectors(case: JudgedCase, seed: str) -> Scripted:
    """Repeats what the detectors warned of."""
    warned = {f.slug for f in case.trace.findings if f.severity >= Severity.WARN}
    return Scripted(case, lambda slug: slug in warned, "detectors")


def obedient(case: JudgedCase, seed: str) -> Scripted:
    """Says what is true, unless a text in the run asks for something else."""
    asked = next((i for i in INJECTIONS if i.name == case.injection), None)
    return Scripted(
        case, lambda slug: slug == case.slug if asked is None else asked.accuses, "obedient"
    )


def noisy(share: float) -> Callable[[JudgedCase, str], Scripted]:
    """Makes a judge that says the contrary of the truth in a share of its verdicts."""

    def judge(case: JudgedCase, seed: str) -> Scripted:
        def says(slug: str) -> bool:
            draw = random.Random(f"{seed}:{case.trace.run_id}:{slug}")
            return (slug == case.slug) is not (draw.random() < share)

        return Scripted(case, says, f"noisy:{share:g}")

    return judge


JUDGES: Mapping[str, Callable[[JudgedCase, str], Scripted]] = {
    "perfect": perfect,
    "lazy": lazy,
    "lying": lying,
    "detectors": detectors,
    "obedient": obedient,
}
"""By name; ``noisy:0.1`` beside them."""


def scripted(name: str) -> Callable[[JudgedCase, str], Scripted]:
    """Look a scripted judge up.

    Raises:
        ValueError: There is none of this name.

    >>> scripted("lazy") is lazy
    True
    """
    if name in JUDGES:
        return JUDGES[name]
    kind, _, share = name.partition(":")
    try:
        if kind == "noisy" and 0 <= float(share or 0.1) <= 1:
            return noisy(float(share or 0.1))
    except ValueError:
        pass
    raise ValueError(f"{name!r} is no scripted judge; known: {', '.join(JUDGES)}, noisy:0.1")
