"""What the judge was asked to do, in one frozen object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from mastwatch.store import Limits, Method

Profile = Literal["fast", "default", "deep"]
"""``fast``: one call. ``default``: asks again where it is in doubt. ``deep``: first an open list
of failures, then the modes, three votes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceLimits:
    """What one run may cost; None is no limit."""

    calls: int | None = 40
    tokens: int | None = 1_500_000
    usd: float | None = None


Compat = Literal["", "paper"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributionSettings:
    """How failed runs are attributed; the model, its limits and its cache are the judge's.

    Attributes:
        enabled: Failed runs are attributed by themselves once they are judged.
        method: ``propose_verify``, ``all_at_once``, ``step_by_step`` or ``binary_search``.
        ground_truth: Show the model the right answer, where the run has one (``expected``).
        compat: ``paper``: the inputs and the control flow of the Who&When paper's released code
            (steps unnumbered in two of the methods, nothing asked twice, no hints) with prompts in
            our words; for the three methods of that paper only.
        hints: Tell the model what live detectors and the judge found.
        candidates: Steps that ``propose_verify`` asks for.
        neighbours: Rows on either side that are shown whole when a candidate is checked.
    """

    enabled: bool = True
    method: Method = "propose_verify"
    ground_truth: bool = False
    compat: Compat = ""
    hints: bool = True
    candidates: int = 3
    neighbours: int = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """How runs are judged.

    Attributes:
        model: The model's name at its server.
        base_url: Any OpenAI-compatible server; None for the client's own default.
        profile: How thorough.
        context_tokens: What the model can read; the run is cut into windows that fit. Learned
            downwards when a server says it was too much.
        reply_tokens: Longest reply.
        sampling: Sampling parameters; none is sent unless it stands here.
        timeout: Seconds a call may take.
        retries: How often a call is repeated after an error that may pass.
        concurrency: Calls at once, at most; the pace adapts below it.
        confidence: Below it a verdict is asked again (``default``, ``deep``), 0 to 1.
        thresholds: The same by mode slug, from a calibration.
        language: Language of ``why``; the model's own choice when empty.
        modes: Slugs to judge; all of the taxonomy when empty.
        taxonomy: Path of a TOML file with modes of your own; empty for MAST alone.
        examples: Path of a JSONL file with few-shot examples; empty for none.
        per_trace: What one run may cost.
        per_day: What all processes on one store may spend in a day (UTC).
        prices: USD per million tokens, ``{"input": 2.5, "output": 10}``; with a USD limit and no
            price nothing is judged: a limit that cannot be kept is kept by not spending.
        triggers: What has a finished run judged by itself: ``outcome`` (it failed, or the host says
            so), ``finding`` (of ``severity`` or above), ``sample``.
        severity: The least severity of a live finding that does.
        sample: Share of all other runs that are judged, 0 to 1.
        in_process: Judge in a thread of the instrumented process; else only ``mastwatch judge
            --worker`` does.
        cache: Take an earlier answer to the same question.
        attribution: What is done about failed runs beside judging them.
    """

    model: str = ""
    base_url: str | None = None
    profile: Profile = "default"
    context_tokens: int = 120_000
    reply_tokens: int = 6_000
    sampling: Mapping[str, float] = field(default_factory=dict)
    timeout: float = 120.0
    retries: int = 4
    concurrency: int = 4
    confidence: float = 0.6
    thresholds: Mapping[str, float] = field(default_factory=dict)
    language: str = ""
    modes: tuple[str, ...] = ()
    taxonomy: str = ""
    examples: str = ""
    per_trace: TraceLimits = field(default_factory=TraceLimits)
    per_day: Limits = field(default_factory=Limits)
    prices: Mapping[str, float] = field(default_factory=dict)
    triggers: tuple[str, ...] = ("outcome", "finding", "sample")
    severity: str = "suspect"
    sample: float = 0.05
    in_process: bool = True
    cache: bool = True
    attribution: AttributionSettings = field(default_factory=AttributionSettings)
