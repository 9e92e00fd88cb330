"""A failed run in, an attribution out."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import replace

from mastwatch.attribution.case import Case, Found
from mastwatch.attribution.methods import (
    all_at_once,
    binary_search,
    propose_verify,
    step_by_step,
)
from mastwatch.attribution.prompt import PROMPT_VERSION
from mastwatch.judge.access import ModelAccess
from mastwatch.judge.answers import total
from mastwatch.judge.settings import AttributionSettings
from mastwatch.judge.windows import coverage
from mastwatch.store import Attribution, Method, Report, Trace

METHODS: dict[Method, Callable[[Case], Awaitable[Found]]] = {
    "propose_verify": propose_verify.run,
    "all_at_once": all_at_once.run,
    "step_by_step": step_by_step.run,
    "binary_search": binary_search.run,
}


class Attributor:
    """Says which step decided a failed run.

    Args:
        access: The model; a judge's, to share its pace, limits and cache.
        settings: How.
    """

    def __init__(self, access: ModelAccess, settings: AttributionSettings | None = None) -> None:
        self._access = access
        self.settings = settings or AttributionSettings()

    async def attribute(
        self, trace: Trace, report: Report | None = None, trigger: str = "asked"
    ) -> Attribution:
        """Attribute a run; whatever the model or its server does, there is a result.

        Args:
            trace: The run.
            report: What the judge said of it: hints, and linked in the result.
            trigger: Why it is attributed.
        """
        started = time.monotonic()
        budget = self._access.budget()
        case = Case(trace, self._access, self.settings, budget, report)
        nothing = _nothing_to_do(trace)
        if nothing is not None:
            return self._told(case, nothing, report, trigger, 0.0)
        known = self._access.learned.context
        found = await METHODS[self.settings.method](case)
        if any(answer.failure == "context_overflow" for answer in case.tally.answers):
            if self._access.learned.context == known:
                case.views.halve(case.views.whole())
            spent = case.tally.answers
            case = Case(trace, self._access, self.settings, budget, report)
            case.tally.answers.extend(spent)
            found = await METHODS[self.settings.method](case)
        return self._told(case, found, report, trigger, time.monotonic() - started)

    def _told(
        self, case: Case, found: Found, report: Report | None, trigger: str, seconds: float
    ) -> Attribution:
        chosen, client, tally = found.chosen, self._access.client, case.tally
        answered = [answer for answer in tally.answers if answer.parsed is not None]
        problems = [answer.problem for answer in tally.answers if answer.problem]
        return Attribution(
            run_id=case.trace.run_id,
            method=self.settings.method,
            result=found.result,
            step=chosen.step if chosen else None,
            agent=chosen.agent if chosen else "",
            reason=chosen.reason if chosen else found.reason,
            counterfactual=chosen.counterfactual if chosen else "",
            evidence=chosen.evidence if chosen else (),
            candidates=found.candidates,
            modes=_modes_at(chosen.step, report) if chosen else (),
            named_agent=tally.named,
            ground_truth=self.settings.ground_truth and bool(case.trace.expected),
            coverage=coverage(case.trace, tally.windows),
            prompt_version=PROMPT_VERSION + ("-paper" if case.paper else ""),
            model=next((answer.model for answer in answered if answer.model), client.model),
            provider=client.provider,
            rung=answered[-1].rung if answered else "",
            windows=len(case.views.whole()) if case.trace.rows else 0,
            usage=replace(total([answer.usage for answer in tally.answers]), seconds=seconds),
            trigger=trigger,
            created=time.time(),
            problems=tuple(dict.fromkeys([*found.problems, *problems])),
        )


def _nothing_to_do(trace: Trace) -> Found | None:
    """Why no model is asked, if there is nothing to ask."""
    if trace.success:
        return Found(result="none", reason="succeeded")
    if not trace.rows:
        return Found(result="not_evaluated", reason="no_rows")
    if not any(row.text or row.tool_calls for row in trace.rows):
        return Found(result="not_evaluated", reason="no_text")
    return None


def _modes_at(step: int, report: Report | None) -> tuple[str, ...]:
    """The MAST modes whose evidence stands in a step."""
    present = report.present if report is not None else ()
    return tuple(
        verdict.slug
        for verdict in present
        if any(item.message_index == step for item in verdict.evidence)
    )
