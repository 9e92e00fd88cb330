"""What judging a run will take, known before anything is sent.

The run goes through the judge itself, with a model that only counts what it is asked. So the
figures are those of the real thing, not of a formula beside it: at least, when the model is sure of
all of its verdicts, and at most, when it is sure of none. Repeats after errors come on top.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from mastwatch.judge.budget import Budget
from mastwatch.judge.client import Ask, Reply
from mastwatch.judge.judge import Judge
from mastwatch.judge.settings import JudgeSettings, TraceLimits
from mastwatch.judge.windows import tokens
from mastwatch.store import Limits, Trace


@dataclass(frozen=True, slots=True)
class Asked:
    """What calls take.

    Attributes:
        calls: How many.
        input_tokens: In all of them, estimated.
        output_tokens: At most.
        usd: At most; None where no price is known.
    """

    calls: int
    input_tokens: int
    output_tokens: int
    usd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What judging one run takes.

    Attributes:
        run_id: The run.
        least: When the model is sure of all.
        most: When it is sure of nothing.
        coverage: Share of the run's rows that the model would read whole.
        over: Limits of one run (``calls``, ``tokens``, ``usd``) that ``most`` would pass; what
            lies beyond would be ``not_evaluated``.
    """

    run_id: str
    least: Asked
    most: Asked
    coverage: float
    over: tuple[str, ...] = ()


async def estimate(trace: Trace, settings: JudgeSettings) -> Estimate:
    """Tell what judging a run will take; asks nobody.

    Raises:
        ValueError: The settings name modes or files that cannot be used.
    """
    least, coverage = await _counted(trace, settings, "absent")
    most, _ = await _counted(trace, settings, "unsure")
    return Estimate(
        run_id=trace.run_id,
        least=least,
        most=most,
        coverage=coverage,
        over=passed(most, settings.per_trace),
    )


def passed(asked: Asked, limits: Limits | TraceLimits) -> tuple[str, ...]:
    """The limits (``calls``, ``tokens``, ``usd``) that calls would pass."""
    pairs = {
        "calls": (asked.calls, limits.calls),
        "tokens": (asked.input_tokens + asked.output_tokens, limits.tokens),
        "usd": (asked.usd or 0.0, limits.usd),
    }
    return tuple(
        name for name, (used, limit) in pairs.items() if limit is not None and used > limit
    )


async def _counted(trace: Trace, settings: JudgeSettings, verdict: str) -> tuple[Asked, float]:
    client = _Counting(settings.model, verdict)
    unlimited = replace(
        settings,
        per_trace=TraceLimits(calls=None, tokens=None, usd=None),
        per_day=Limits(),
        concurrency=1,
    )
    report = await Judge(client, unlimited).judge(trace)
    usd = Budget(settings).usd(client.input_tokens, client.output_tokens)
    asked = Asked(client.calls, client.input_tokens, client.output_tokens, usd)
    return asked, report.coverage


class _Counting:
    """A model that gives one verdict on everything and counts."""

    provider = "none"
    address = "nowhere"

    def __init__(self, model: str, verdict: str) -> None:
        self.model = model
        self.calls = self.input_tokens = self.output_tokens = 0
        self._opinion = {"verdict": verdict, "confidence": 1.0, "evidence": [], "why": ""}

    async def complete(self, ask: Ask) -> Reply:
        self.calls += 1
        self.input_tokens += tokens(ask.system + ask.user)
        self.output_tokens += ask.max_tokens
        slugs = ask.schema["properties"]["modes"]["required"]
        modes = dict.fromkeys(slugs, self._opinion)
        return Reply(text=json.dumps({"modes": modes, "task_completed": "unclear"}))

    async def close(self) -> None:
        """There is nothing to let go of."""
