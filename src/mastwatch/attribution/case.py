"""One run being attributed: what its method may show and ask, and what came of it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from mastwatch.attribution.forms import ObjectForm
from mastwatch.attribution.said import Proposal
from mastwatch.attribution.steps import Steps, normal_name
from mastwatch.attribution.views import Views
from mastwatch.judge import prompt as judge_prompt
from mastwatch.judge.access import ModelAccess
from mastwatch.judge.answers import Answer, Question
from mastwatch.judge.budget import Budget
from mastwatch.judge.evidence import Rows
from mastwatch.judge.render import behind_bars, boundary
from mastwatch.judge.replies import Quote
from mastwatch.judge.settings import AttributionSettings
from mastwatch.judge.windows import Window
from mastwatch.store import Candidate, Evidence, Report, Trace
from mastwatch.store.attribution import Result

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a method found.

    Attributes:
        result: As in ``Attribution``.
        chosen: The step, where there is one.
        candidates: All that were considered, the best first.
        reason: Why there is no step.
        problems: One sentence each.
    """

    result: Result
    chosen: Candidate | None = None
    candidates: tuple[Candidate, ...] = ()
    reason: str = ""
    problems: tuple[str, ...] = ()


@dataclass(slots=True)
class Tally:
    """What was asked of the model so far.

    Attributes:
        answers: All of them, the failed ones too.
        windows: What was shown and answered.
        named: The agent a reply named where another one speaks in that row.
    """

    answers: list[Answer[object]] = field(default_factory=list)
    windows: list[Window] = field(default_factory=list)
    named: str = ""


class Case:
    """One run being attributed.

    Args:
        trace: The run.
        access: The model.
        settings: How.
        budget: What this run may cost.
        report: The judge's, for hints; optional.
    """

    def __init__(
        self,
        trace: Trace,
        access: ModelAccess,
        settings: AttributionSettings,
        budget: Budget,
        report: Report | None = None,
    ) -> None:
        self.trace = trace
        self.settings = settings
        self.steps = Steps(trace)
        self.views = Views(trace, access.settings, access.learned)
        self.tally = Tally()
        self._access = access
        self._budget = budget
        self._report = report
        self._rows = Rows(trace)

    @property
    def paper(self) -> bool:
        """Whether the paper's inputs and control flow are wanted."""
        return self.settings.compat == "paper"

    async def ask(
        self,
        form: ObjectForm[_T],
        system: str,
        window: Window,
        word: str,
        *,
        more: Mapping[str, Sequence[str]] | None = None,
        sample: int = 0,
    ) -> Answer[_T]:
        """Ask one question.

        Args:
            form: The reply that is wanted.
            system: The instructions.
            window: What is shown.
            word: The word in the frame, from ``frame_word``.
            more: Lines by heading that follow the rows.
            sample: From 1 on the same question once more.
        """
        user = judge_prompt.framed(window, word, {**self._truth(), **(more or {})})
        asked = f"{sample}\n{system}\n{user}".replace(word, "")
        key = hashlib.sha256(asked.encode("utf-8", "backslashreplace")).hexdigest()
        answer = await self._access.ask(Question(system, user, form, key), self._budget)
        self.tally.answers.append(answer)  # type: ignore[arg-type]  # only its figures are read
        if answer.parsed is not None:
            self.tally.windows.append(window)
        return answer

    def frame_word(self) -> str:
        """A word for the frame around the run that nobody who wrote the run could know."""
        return boundary()

    def hints(self) -> dict[str, list[str]]:
        """What detectors and the judge said of the run, as data for the frame."""
        if self.paper or not self.settings.hints:
            return {}
        verdicts = self._report.present if self._report is not None else ()
        judged = [
            f"- {verdict.slug} (rows {', '.join(f'#{e.message_index}' for e in verdict.evidence)})"
            for verdict in verdicts
        ]
        return {
            "Reported while it ran (may be wrong)": judge_prompt.reported(self.trace.findings),
            "Found by a judge of failure modes (may be wrong)": judged,
        }

    def candidate(self, proposal: Proposal) -> Candidate | None:
        """A proposed step that exists, with the agent who speaks there; None for any other."""
        if proposal.step is None or proposal.step not in self.steps:
            return None
        agent = self.steps.agent(proposal.step)
        if proposal.agent and normal_name(proposal.agent) != agent:
            self.tally.named = self.tally.named or normal_name(proposal.agent)
        return Candidate(
            step=proposal.step,
            agent=agent,
            reason=proposal.reason,
            counterfactual=proposal.counterfactual,
            confidence=proposal.confidence,
            evidence=self.evidence(proposal.quote),
        )

    def evidence(self, *quotes: Quote | None) -> tuple[Evidence, ...]:
        """The quotes that stand in the run."""
        found = [self._rows.check(quote) for quote in quotes if quote is not None]
        return tuple(item for item in found if item is not None)

    def _truth(self) -> dict[str, list[str]]:
        if not self.settings.ground_truth or not self.trace.expected:
            return {}
        return {"The right answer to the task": [behind_bars(self.trace.expected)]}
