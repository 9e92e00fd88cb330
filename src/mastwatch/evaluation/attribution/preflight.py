"""What attributing runs will take at most, known before anything is sent.

A run goes through its method with a model that counts what it is asked and answers so that as much
as possible is asked: no step is an error, no half is clear at first, every window proposes as many
candidates as are looked at. Repeats after errors come on top.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mastwatch.attribution import Attributor
from mastwatch.judge.access import ModelAccess
from mastwatch.judge.budget import Budget
from mastwatch.judge.client import Ask, Reply
from mastwatch.judge.preflight import Asked
from mastwatch.judge.render import row_text, visible
from mastwatch.judge.replies import WHY_CHARS
from mastwatch.judge.settings import JudgeSettings, TraceLimits
from mastwatch.judge.windows import tokens
from mastwatch.store import Limits, Trace

_QUOTE_CHARS = 100


async def at_most(trace: Trace, settings: JudgeSettings) -> Asked:
    """Tell what attributing a run will take by the method of ``settings``; asks nobody."""
    client = _Counting(trace, settings)
    unlimited = replace(
        settings, per_trace=TraceLimits(calls=None, tokens=None, usd=None), per_day=Limits()
    )
    await Attributor(ModelAccess(client, unlimited), settings.attribution).attribute(trace)
    usd = Budget(settings).usd(client.input_tokens, client.output_tokens)
    return Asked(client.calls, client.input_tokens, client.output_tokens, usd)


class _Counting:
    """A model that counts and keeps the questions coming."""

    provider = "none"
    address = "nowhere"

    def __init__(self, trace: Trace, settings: JudgeSettings) -> None:
        self.model = settings.model
        self.calls = self.input_tokens = self.output_tokens = 0
        self._sizes = [tokens(row_text(row)) for row in trace.rows]
        self._trace = trace
        self._how = settings.attribution
        self._segment = (0, len(self._sizes))
        self._unclear = False

    async def complete(self, ask: Ask) -> Reply:
        self.calls += 1
        self.input_tokens += tokens(ask.system + ask.user)
        self.output_tokens += ask.max_tokens
        said: dict[str, Any] = {"reason": "", "why": "", "step": None, "error": "no"}
        said |= {"is_error": "unsure", "lost_before": "unsure", "saves": "unsure"}
        if ask.schema_name == "proposals":
            said = {"candidates": self._candidates()}
        if ask.schema_name == "half":
            said["half"] = self._half()
        return Reply(text=json.dumps(said))

    async def close(self) -> None:
        """There is nothing to let go of."""

    def _candidates(self) -> list[dict[str, Any]]:
        """The steps with the most text around them, each with the longest row of all as quote."""
        near = self._how.neighbours
        order = sorted(
            range(len(self._sizes)),
            key=lambda at: -sum(self._sizes[max(0, at - near) : at + near + 1]),
        )
        rows = self._trace.rows
        longest = rows[self._sizes.index(max(self._sizes))]
        words = visible(row_text(longest)).strip()[:_QUOTE_CHARS].strip()
        said = {
            "agent": "",
            "reason": "x" * WHY_CHARS,
            "counterfactual": "x" * WHY_CHARS,
            "confidence": 0.5,
            "evidence": {"msg": longest.index, "quote": words},
        }
        return [{**said, "step": rows[at].index} for at in order[: self._how.candidates]]

    def _half(self) -> str:
        self._unclear = not self._unclear and not self._how.compat
        if self._unclear:
            return "unclear"
        start, end = self._segment
        middle = start + (end - start + 1) // 2
        first = self._most(start, middle) >= self._most(middle, end)
        self._segment = (start, middle) if first else (middle, end)
        return "first" if first else "second"

    def _most(self, start: int, end: int) -> int:
        return _costliest(self._sizes[start:end])


def _costliest(sizes: Sequence[int]) -> int:
    """The most that searching a segment by halves can show, in tokens of its rows."""
    if len(sizes) < 2:
        return 0
    middle = (len(sizes) + 1) // 2
    return sum(sizes) + max(_costliest(sizes[:middle]), _costliest(sizes[middle:]))
