"""What a model said to attribution's questions; not yet checked against the run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mastwatch.judge.replies import Quote

Word = Literal["yes", "no", "unsure"]
Half = Literal["first", "second", "unclear"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A step as one reply names it; not yet checked against the run.

    Attributes:
        step: A row's number; None where the reply gave none that can be read.
        agent: The agent it names; only compared with who speaks there.
        reason, counterfactual: In words.
        confidence: 0 to 1; None when missing or no such number.
        quote: The words it rests on.
    """

    step: int | None
    agent: str = ""
    reason: str = ""
    counterfactual: str = ""
    confidence: float | None = None
    quote: Quote | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposals:
    """The steps a reply names, in its order; none: it sees no decisive error."""

    steps: tuple[Proposal, ...] = ()
    clean: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What a close look at one step says.

    Attributes:
        error: Whether it is an error at all.
        doomed: Whether the run was past saving before it.
        saves: Whether correcting it would have made the run succeed.
    """

    error: Word
    doomed: Word
    saves: Word
    quote: Quote | None = None
    why: str = ""
    clean: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSaid:
    """Whether the last step shown is an error that derails the task."""

    error: Word
    reason: str = ""
    quote: Quote | None = None
    clean: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class HalfSaid:
    """In which half of a segment the decisive error lies."""

    half: Half
    reason: str = ""
    clean: bool = True
