"""What is said of a failed run: which step decided it, who took it, what would have saved it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from mastwatch.store.report import Evidence, Usage

ATTRIBUTION_SCHEMA = 1
"""Version of an attribution's JSON."""

Method = Literal["propose_verify", "all_at_once", "step_by_step", "binary_search"]
METHODS: tuple[Method, ...] = get_args(Method)
Result = Literal["attributed", "unverified", "none", "not_evaluated"]
"""``unverified``: proposed, but no candidate survived its check. ``none``: no decisive error seen.
``not_evaluated``: the model could not be asked, or gave nothing that can be used."""
Check = Literal["survived", "refuted", "unchecked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A step that may have decided the run.

    Attributes:
        step: Its row of the transcript.
        agent: Who speaks in that row; never the model's word.
        reason: What went wrong there, in the model's words.
        counterfactual: What should have been done instead, and where that leads.
        confidence: The model's own, 0 to 1; None where it gave none.
        evidence: Quotes that were found in the run.
        check: What became of it when it was looked at closely.
        objection: Why it was refuted.
    """

    step: int
    agent: str
    reason: str = ""
    counterfactual: str = ""
    confidence: float | None = None
    evidence: tuple[Evidence, ...] = ()
    check: Check = "unchecked"
    objection: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """Who decided the failure of a run, at which step.

    Attributes:
        run_id: The run.
        method: How it was found.
        result: Whether a step was found, and how sure that is.
        step: Its row of the transcript; None where none was found.
        agent: Who speaks in that row; empty where none was found.
        reason: What went wrong there; without a step, why there is none: ``no_error`` or the
            reason of a ``not_evaluated`` (``budget``, ``refusal``, ``unparsable``, ...).
        counterfactual: What would have saved the run.
        evidence: Quotes that were found in the run.
        candidates: All steps that were considered, the best first.
        modes: Slugs of the MAST modes whose verdict has evidence in this row.
        named_agent: The agent the model named, where that is not who speaks in the row.
        ground_truth: The right answer was shown to the model.
        coverage: Rows the model saw whole, of all, 0 to 1.
        prompt_version, model, provider: What attributed.
        rung: As in ``Report``.
        windows: Into how many parts the run was cut.
        usage: What it cost.
        trigger: As in ``Report``.
        created: Unix seconds.
        problems: What went wrong on the way, one sentence each; no text of the run.
    """

    run_id: str
    method: Method
    result: Result
    step: int | None = None
    agent: str = ""
    reason: str = ""
    counterfactual: str = ""
    evidence: tuple[Evidence, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    modes: tuple[str, ...] = ()
    named_agent: str = ""
    ground_truth: bool = False
    coverage: float = 0.0
    prompt_version: str = ""
    model: str = ""
    provider: str = ""
    rung: str = ""
    windows: int = 0
    usage: Usage = field(default_factory=Usage)
    trigger: str = "asked"
    created: float = 0.0
    problems: tuple[str, ...] = ()

    @property
    def agent_name(self) -> str:
        """The agent, under the name that users of ag2tracer know."""
        return self.agent

    @property
    def step_number(self) -> int | None:
        """The step, under the name that users of ag2tracer know; from 0."""
        return self.step
