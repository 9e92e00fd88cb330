"""What one foreign span says in our words, and what a dialect is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, Protocol

from mastwatch.events import Contract, Outcome, RequestMessage, ToolRequest
from mastwatch.spans.foreign.span import ForeignSpan

Op = Literal["workflow", "agent", "chat", "tool", "message", "human"]
"""What a span is about. ``message``: an envelope from one agent to another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a model or an agent said last: never its history.

    Attributes:
        text: None when withheld or redacted; empty when it only called tools.
        tool_calls: The tools it asks for.
        sender: Who speaks, where the message itself says so.
    """

    text: str | None = None
    tool_calls: tuple[ToolRequest, ...] = ()
    sender: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of a run as another producer's span tells it. None: it does not say.

    A value that stands for a missing one (``""``, ``unknown``, ``__REDACTED__``) is None here.

    Attributes:
        op: What the span is about.
        agent: Who acts: the agent itself, who asks the model, who calls the tool.
        name: Of the workflow or of the tool.
        recipients: To whom a ``message`` or an answer goes.
        task: What a workflow or agent was asked to do.
        conversation_id: The framework's thread or session.
        model, provider: As in ``gen_ai.*``.
        request: The messages a model was sent; as ``HistoryMessage``, also the tools they ask for
            and whose results they are.
        answer: What came back of a model or an agent; what a ``message`` says; what a ``human``
            answered.
        arguments: Of a tool call, without the framework's wrapping: parsed JSON, or the raw text.
        result: Of a tool call, without the framework's wrapping.
        truncated: The producer cut ``result``: equal beginnings do not make equal results.
        call_id: The provider's id of a tool call.
        input_tokens, output_tokens: Of model calls only; sums over several calls are left out.
        error: What went wrong: exception type. None for what is no failure (see ``outcome``).
        outcome: How it ended, where the span says more than that it failed: ``abandoned`` for a
            stream that was left, ``cancelled``, ``limit``, ``paused``.
        reason: The framework's own words on its end.
        contract: How the run is meant to stop, as far as the span says.
    """

    op: Op
    agent: str | None = None
    name: str | None = None
    recipients: tuple[str, ...] = ()
    task: str | None = None
    conversation_id: str | None = None
    model: str | None = None
    provider: str | None = None
    request: tuple[RequestMessage, ...] | None = None
    answer: Answer | None = None
    arguments: object = None
    result: str | None = None
    truncated: bool = False
    call_id: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    error: str | None = None
    outcome: Outcome | None = None
    reason: str = ""
    contract: Contract | None = None


# This contract is only ever added to: other packages may bring dialects of their own.


def filled(step: Step, other: Step) -> Step:
    """Fill what one account does not say from another account of the same happening."""
    lacking = {
        name: getattr(other, name)
        for name in (field.name for field in fields(Step))
        if getattr(step, name) in _EMPTY and getattr(other, name) not in _EMPTY
    }
    for name in ("error", "outcome", "reason"):  # the inner call may have been tried again
        lacking.pop(name, None)
    if step.answer is not None and step.answer.text is None and other.answer is not None:
        lacking["answer"] = other.answer
    return replace(step, **lacking) if lacking else step


_EMPTY: tuple[object, ...] = (None, "", ())


class Dialect(Protocol):
    """How one producer writes its spans. A module of ``spans.dialects`` makes one of these.

    A dialect reads one span at a time, keeps nothing, and never raises on odd values: what cannot
    be read is missing.

    It may also have a method ``lacks_chats(scope: str) -> bool``: whether the model calls of that
    scope's library have no span of this producer. Its agents' spans then stand for what they say,
    and another producer of the same library that tells of model calls is read instead.

    Attributes:
        name: ``genai``, ``openinference``, ...
        priority: Of two dialects that tell of one library the lower number is read.
    """

    name: str
    priority: int

    def claims(self, scope: str, version: str, attributes: Mapping[str, Any]) -> bool:
        """Whether a span is written so: by its scope, else by its attributes.

        Args:
            scope: Name of the instrumentation scope.
            version: Version of the scope.
            attributes: Empty for a span that has only begun; most producers set them later.
        """

    def library(self, scope: str) -> str:
        """The library whose doings this scope tells of: ``langchain``, ``openai``, ``ag2``."""

    def opening(self, name: str, attributes: Mapping[str, Any]) -> Op | Literal["other"] | None:
        """What a span that has only begun is about; ``other``: nothing of ours; None: too early."""

    def read(self, span: ForeignSpan) -> Step | None:
        """What a finished span says; None when it is no step of a run."""
