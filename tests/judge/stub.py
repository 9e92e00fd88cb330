"""A model without a server, and runs to judge."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from mastwatch.judge.client import Ask, ModelError, Reply
from mastwatch.judge.judge import Judge
from mastwatch.judge.settings import JudgeSettings
from mastwatch.judge.worker import JudgeDuty
from mastwatch.store import Trace, TraceRow

SETTINGS = JudgeSettings(model="stub", profile="fast", retries=0)
LOOP = "Now I search the archive for the harbour log again."


class StubModel:
    """Answers as told.

    Args:
        answer: Gives a reply or an error for each question; by default everything is absent.
        seconds: How long it takes.
    """

    provider = "stub"
    model = "stub"
    address = "stub"

    def __init__(
        self, answer: Callable[[Ask], str | ModelError] | None = None, seconds: float = 0.0
    ) -> None:
        self.answer = answer or absent
        self.seconds = seconds
        self.asked = 0
        self.now = self.most = 0

    async def complete(self, ask: Ask) -> Reply:
        self.asked += 1
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(self.seconds)
        finally:
            self.now -= 1
        answer = self.answer(ask)
        if isinstance(answer, ModelError):
            raise answer
        return Reply(text=answer, model="stub", input_tokens=1_000, output_tokens=100)

    async def close(self) -> None:
        pass


def absent(ask: Ask) -> str:
    return verdicts(ask)


def verdicts(ask: Ask, **said: Any) -> str:
    slugs = ask.schema["properties"]["modes"]["required"]
    none = {"verdict": "absent", "confidence": 0.9, "evidence": [], "why": "looked for it"}
    found = {slug: said.get(slug, none) for slug in slugs}
    return json.dumps({"modes": found, "task_completed": "no"})


def looping(ask: Ask) -> str:
    """A verdict with evidence that stands in ``trace()``."""
    evidence = [{"msg": 1, "quote": LOOP}, {"msg": 3, "quote": LOOP}]
    present = {"verdict": "present", "confidence": 0.9, "evidence": evidence, "why": "it loops"}
    return verdicts(ask, step_repetition=present)


def trace(number: int = 1, **fields: Any) -> Trace:
    said = ("Find the harbour log.", LOOP, "Nothing there yet, I am afraid.", LOOP, "I give up.")
    who = ("Chair", "Clerk", "Chair", "Clerk", "Clerk")
    rows = tuple(TraceRow(index=i, agent=who[i], text=text) for i, text in enumerate(said))
    about = {"run_id": f"run-{number}", "task": f"Task {number}", "framework": "autogen"}
    return Trace(rows=rows, **{**about, "outcome": "error", **fields})


def judge(
    model: StubModel, settings: JudgeSettings = SETTINGS, store: Any = None
) -> Callable[[], Judge]:
    return lambda: Judge(model, settings, store)


def judging(
    model: StubModel, settings: JudgeSettings = SETTINGS, store: Any = None
) -> Callable[[], list[JudgeDuty]]:
    return lambda: [JudgeDuty(Judge(model, settings, store))]
