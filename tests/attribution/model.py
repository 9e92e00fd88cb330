"""A model that answers attribution's questions as a function of the question says."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from mastwatch.judge.client import Ask, ModelError, Reply
from mastwatch.store import Trace, TraceRow

Say = Callable[[Ask], Any]


class Model:
    """Answers by the kind of question; a kind that is not given gets the oracle's answer.

    Args:
        decisive: The step it blames.
        says: Answers by kind of question (``Ask.schema_name``): a value, text, an error or a
            function of the question.
    """

    provider = "scripted"
    address = "here"

    def __init__(self, decisive: int = 3, model: str = "m", **says: Any) -> None:
        self.model = model
        self.asked: list[Ask] = []
        self._decisive = decisive
        self._says = says

    @property
    def kinds(self) -> list[str]:
        return [ask.schema_name for ask in self.asked]

    async def complete(self, ask: Ask) -> Reply:
        self.asked.append(ask)
        said = self._says.get(ask.schema_name, self._oracle)
        if callable(said):
            said = said(ask)
        if isinstance(said, ModelError):
            raise said
        if isinstance(said, Reply):
            return said
        text = said if isinstance(said, str) else json.dumps(said)
        return Reply(text=text, model="m-1", input_tokens=100, output_tokens=10)

    async def close(self) -> None:
        pass

    def _oracle(self, ask: Ask) -> Mapping[str, Any]:
        return getattr(self, f"_{ask.schema_name}")(ask)

    def _proposals(self, ask: Ask) -> Mapping[str, Any]:
        shown = f"[#{self._decisive} " in ask.user.partition("Rows")[2]
        return {"candidates": [proposal(self._decisive)] if shown else []}

    def _check(self, ask: Ask) -> Mapping[str, Any]:
        named = int(re.search(r"row #(\d+) is the decisive", ask.system)[1])
        return check("yes" if named == self._decisive else "no", named)

    def _choice(self, ask: Ask) -> Mapping[str, Any]:
        return {"step": self._decisive, "agent": "", "reason": "wrong port", "confidence": 0.8}

    def _step(self, ask: Ask) -> Mapping[str, Any]:
        row = int(re.search(r"up to its row #?(\d+)", ask.system)[1])
        return {"error": "yes" if row == self._decisive else "no", "reason": "", "evidence": None}

    def _half(self, ask: Ask) -> Mapping[str, Any]:
        first, last = re.search(r'"first" is rows #?(\d+) to #?(\d+)', ask.system).groups()
        inside = int(first) <= self._decisive <= int(last)
        return {"half": "first" if inside else "second", "reason": "it is there"}


def proposal(step: Any, /, **more: Any) -> dict[str, Any]:
    said = {"step": step, "agent": "", "reason": "It took the wrong port.", "confidence": 0.9}
    quote = {"msg": step, "quote": words(step) if isinstance(step, int) else "x"}
    return {**said, "counterfactual": "Ask the harbour first.", "evidence": quote, **more}


def check(saves: str, step: int = 3, /, **more: Any) -> dict[str, Any]:
    said = {"is_error": saves, "lost_before": "no", "saves": saves, "why": "looked closely"}
    return {**said, "evidence": {"msg": step, "quote": words(step)}, **more}


def words(step: int) -> str:
    return f"the ship number {step} sails to port {step}"


def run(rows: int = 8, **more: Any) -> Trace:
    agents = ("Planner", "Pilot", "Clerk")
    said = tuple(
        TraceRow(index=n, agent=agents[n % 3], text=f"I say {words(n)} today.") for n in range(rows)
    )
    return Trace(
        run_id="run-1", task="Bring the ship home.", rows=said, **{"success": False, **more}
    )
