"""What a reply must hold and how it is read: the judge's verdicts, an attribution's steps."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from mastwatch.judge.replies import Unreadable

T = TypeVar("T")


class Form(Protocol[T]):
    """One kind of reply. Asking, repairing and remembering are the same for all kinds.

    Attributes:
        name: Names the schema, for providers that want a name.
        about: What was asked for; with the words of the question the identity of an answer.
    """

    @property
    def name(self) -> str: ...  # noqa: D102 - see Attributes

    @property
    def about(self) -> tuple[str, ...]: ...  # noqa: D102 - see Attributes

    def schema(self) -> dict[str, Any]:
        """JSON schema of the reply; every object closed, every key required."""

    def read(self, text: str) -> T | Unreadable:
        """Read a reply: typed values or a stated problem, never guesses."""

    def lacking(self, read: T) -> tuple[str, ...]:
        """What a readable reply does not say, though it was asked for."""

    def joined(self, first: T, then: T) -> T:
        """A reply that lacked something, with what the next one says of that."""

    def clean(self, read: T) -> bool:
        """Whether the reply was one JSON object and nothing else."""

    def repair(self, problem: str) -> str:
        """What is added to the question when a reply could not be used."""
