"""What the judge asks of a model, whatever provider stands behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Rung = Literal["json_schema", "json_object", "tool", "extract"]
RUNGS: tuple[Rung, ...] = ("json_schema", "json_object", "tool", "extract")
"""Ways of holding a reply to a schema, the strictest first; ``extract`` only asks in words."""

ErrorKind = Literal[
    "auth",
    "rate_limited",
    "context_overflow",
    "unsupported",
    "bad_request",
    "timeout",
    "unreachable",
    "provider_error",
]
"""``unsupported``: the server refuses the rung or a sampling parameter, not the question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One question.

    Attributes:
        system: Instructions; the only place where any stand.
        user: What is asked about.
        schema: JSON schema of the reply.
        schema_name: Its name, for providers that want one.
        rung: How the reply is held to it.
        max_tokens: Longest reply.
        sampling: Sampling parameters (``temperature``), only those that were configured.
        timeout: Seconds.
    """

    system: str
    user: str
    schema: Mapping[str, Any]
    schema_name: str = "verdicts"
    rung: Rung = "json_schema"
    max_tokens: int = 4_096
    sampling: Mapping[str, float] = field(default_factory=dict)
    timeout: float = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer.

    Attributes:
        text: Its text, or the arguments of the tool call; empty when there was none.
        model: The model that answered, as the server names it.
        input_tokens, output_tokens: As reported; None when not.
        truncated: It stopped at the length limit.
        refusal: The model's refusal, where the provider marks it as one.
    """

    text: str
    model: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    truncated: bool = False
    refusal: str = ""


class ModelError(Exception):
    """A call that gave no answer.

    Args:
        kind: What went wrong.
        message: One sentence for a person; no text of the run.
        retry_after: Seconds the server asked us to wait; None when it did not.
        context_tokens: How many tokens the model can read, where an overflow's error says so.
        sampling: Where something is unsupported: whether it is a sampling parameter (True), the
            way of holding the reply to its schema (False), or the server does not say (None).
    """

    def __init__(
        self,
        kind: ErrorKind,
        message: str,
        retry_after: float | None = None,
        context_tokens: int | None = None,
        sampling: bool | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.retry_after = retry_after
        self.context_tokens = context_tokens
        self.sampling = sampling


class ModelClient(Protocol):
    """A model to ask. Adapters import their library when first used."""

    @property
    def provider(self) -> str:
        """As in ``gen_ai.provider.name``."""

    @property
    def model(self) -> str:
        """The model asked for."""

    @property
    def address(self) -> str:
        """Base URL or other identity: what was learned of a server is remembered under it."""

    async def complete(self, ask: Ask) -> Reply:
        """Ask once; no retries here.

        Raises:
            ModelError: There is no answer.
        """

    async def close(self) -> None:
        """Let go of connections."""
