"""What is said of a finished run: verdicts, each with its evidence, and what they cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from mastwatch import taxonomy

REPORT_SCHEMA = 1
"""Version of a report's JSON."""

VerdictWord = Literal["present", "absent", "unsure", "not_evaluated"]
VERDICTS: tuple[VerdictWord, ...] = ("present", "absent", "unsure", "not_evaluated")
TaskWord = Literal["yes", "no", "unclear", "not_evaluated"]
EvidenceStatus = Literal["verified", "repaired"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A quote that was found in the run.

    Attributes:
        message_index: Row of the transcript it stands in.
        quote: The words, as they stand there.
        status: ``verified`` where the judge said, ``repaired`` when the row was put right.
    """

    message_index: int
    quote: str
    status: EvidenceStatus = "verified"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What is said of one failure mode.

    Attributes:
        slug: The mode's key, ``step_repetition``; a custom mode's own.
        mode: Its display form, ``FM-1.3``; a custom mode's own code.
        verdict: ``present``, ``absent``, ``unsure``; ``not_evaluated`` is never the model's word.
        reason: Why it is ``not_evaluated`` (``budget``, ``schema``, ``timeout``, ...) or was taken
            down to ``unsure`` (``no_evidence``, ``split_vote``, ``one_row``, ...); beside
            ``present`` a remark (``single_agent``).
        confidence: The judge's own, 0 to 1; None where it gave none.
        evidence: Quotes that were checked against the run; never empty for ``present``.
        why: One or two sentences.
        votes: Votes for the verdict of all cast, ``2/3``; empty for a single one.
        detector: Highest severity at which a live detector flagged the mode; empty for none.
    """

    slug: str
    mode: str
    verdict: VerdictWord
    reason: str = ""
    confidence: float | None = None
    evidence: tuple[Evidence, ...] = ()
    why: str = ""
    votes: str = ""
    detector: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What it took.

    Attributes:
        calls: Model calls, repairs and repeats among them.
        input_tokens, output_tokens: As the server reported, else estimated.
        usd: Money; None where no price is known.
        estimated: Some of the tokens are our estimate: a server did not report them.
        planned_tokens: What was estimated beforehand, to compare.
        cached_calls: Answers that came from our own cache, at no cost.
        seconds: Wall time.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = None
    estimated: bool = False
    planned_tokens: int = 0
    cached_calls: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a judge says of one run.

    Attributes:
        run_id: The run.
        verdicts: One per mode of the taxonomy, by slug, in its order; none is ever missing.
        task_completed: Whether the run did what it was asked.
        coverage: Rows the judge saw whole, of all, 0 to 1.
        taxonomy_version, prompt_version, model, provider: What judged.
        profile: ``fast``, ``default`` or ``deep``.
        rung: How the reply was held to its schema: ``json_schema``, ``json_object``, ``tool``,
            ``extract``; empty when no reply was readable.
        windows: Into how many parts the run was cut.
        evidence_counts: ``verified``, ``repaired``, ``rejected`` quotes.
        ghosts: Verdicts about modes that do not exist, dropped.
        usage: What it cost.
        calibration: Stamp of the calibration that holds for taxonomy, prompt and model, or
            ``uncalibrated``.
        trigger: Why the run was judged: ``outcome``, ``finding``, ``sample``, ``asked``.
        created: Unix seconds.
        problems: What went wrong on the way, one sentence each; no text of the run.
    """

    run_id: str
    verdicts: Mapping[str, Verdict]
    task_completed: TaskWord = "not_evaluated"
    coverage: float = 0.0
    taxonomy_version: str = taxonomy.TAXONOMY_VERSION
    prompt_version: str = ""
    model: str = ""
    provider: str = ""
    profile: str = "default"
    rung: str = ""
    windows: int = 0
    evidence_counts: Mapping[str, int] = field(default_factory=dict)
    ghosts: int = 0
    usage: Usage = field(default_factory=Usage)
    calibration: str = "uncalibrated"
    trigger: str = "asked"
    created: float = 0.0
    problems: tuple[str, ...] = ()

    @property
    def present(self) -> tuple[Verdict, ...]:
        """The modes the run shows."""
        return tuple(v for v in self.verdicts.values() if v.verdict == "present")
