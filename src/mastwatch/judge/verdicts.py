"""The judge's kind of reply: a verdict on each mode that was asked about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mastwatch.judge import prompt
from mastwatch.judge.replies import Unreadable
from mastwatch.judge.schema import Parsed, parse, reply_schema


@dataclass(frozen=True, slots=True)
class VerdictsForm:
    """A verdict on each of some modes.

    Attributes:
        slugs: The modes.
    """

    slugs: tuple[str, ...]

    @property
    def name(self) -> str:
        """Names the schema."""
        return "verdicts"

    @property
    def about(self) -> tuple[str, ...]:
        """The modes."""
        return self.slugs

    def schema(self) -> dict[str, Any]:
        """JSON schema of the reply."""
        return reply_schema(self.slugs)

    def read(self, text: str) -> Parsed | Unreadable:
        """Read a reply."""
        return parse(text, self.slugs)

    def lacking(self, read: Parsed) -> tuple[str, ...]:
        """Modes on which nothing can be read."""
        return (*read.missing, *read.malformed)

    def joined(self, first: Parsed, then: Parsed) -> Parsed:
        """A reply that lacked some modes, with what the next one says of those."""
        return completed(first, then, self.slugs)

    def clean(self, read: Parsed) -> bool:
        """Whether the reply was one JSON object and nothing else."""
        return read.clean

    def repair(self, problem: str) -> str:
        """What is added to the question when a reply could not be used."""
        return prompt.repair(problem, self.slugs)


def completed(first: Parsed, then: Parsed, slugs: Sequence[str]) -> Parsed:
    """A reply that lacked some modes, with what the next one says of those."""
    opinions = {**then.opinions, **first.opinions}
    return Parsed(
        opinions=opinions,
        task_completed=(
            then.task_completed if first.task_completed == "unclear" else first.task_completed
        ),
        missing=tuple(s for s in slugs if s not in opinions and s in then.missing),
        malformed=tuple(s for s in slugs if s not in opinions and s not in then.missing),
        ghosts=first.ghosts + then.ghosts,
        clean=first.clean and then.clean,
    )
