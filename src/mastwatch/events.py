"""The one vocabulary of mastwatch: whatever the source, a run becomes a sequence of Events.

Live hooks, foreign spans and recorded logs all produce these; detectors, store and judge know
nothing else. Events are frozen snapshots: a source copies what it hands over, a reader never
changes it. Text is in-process only; what leaves the process is decided in ``spans.content``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Outcome = Literal["completed", "limit", "paused", "abandoned", "cancelled", "error", "unknown"]
OUTCOMES: tuple[Outcome, ...] = (
    "completed",
    "limit",
    "paused",
    "abandoned",
    "cancelled",
    "error",
    "unknown",
)
"""How a run can end; ``paused`` waits for a person and may be resumed."""

Role = Literal["assistant", "user", "tool", "system"]
MessageKind = Literal["opener", "reply", "human", "system", "code", "auto_reply"]
"""``code`` is the output of code an agent ran; ``auto_reply`` a canned text no model wrote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """How a run is meant to stop, as far as its framework says.

    Attributes:
        tokens: Texts that end the run when an agent says them (``TERMINATE``).
        max_messages: Cap on agent messages; None when there is none or it is unknown.
        votes: How many agents must say the token before the run ends.
        source: Where this was read, ``GroupChat.max_round`` for example.
        uncapped: The framework is known to set no cap, or one of 10,000 messages or more;
            ``max_messages`` alone does not tell that from an unknown one.
    """

    tokens: tuple[str, ...] = ()
    max_messages: int | None = None
    votes: int = 1
    source: str = ""
    uncapped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRequest:
    """A tool call as a message asks for it. ``arguments`` is parsed JSON, or the raw string."""

    name: str
    arguments: object = None
    call_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestMessage:
    """One message of a model request. ``content`` is None when the source withholds it."""

    role: Role
    content: str | None
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What all events share.

    Attributes:
        run_id: The run it belongs to.
        at: Unix time in seconds; None in logs without times.
        id: The source's own id of this happening. Two events of one kind and id are one event; an
            event without id is certain only as far as its text and time tell.
        branch: A conversation of its own inside the run (nested chat, parallel worker); detectors
            watch each branch by itself. Empty for the main conversation.
    """

    run_id: str
    at: float | None = None
    id: str | None = None
    branch: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(Event):
    """A run, or with ``branch`` set a conversation inside it, begins (or is resumed).

    Attributes:
        name: The workflow's name.
        framework: ``autogen``, ``langchain``, ``custom``, ...
        task: What the run was asked to do.
        prompts: System prompt by agent name, as far as known at the start.
        contract: How the run is meant to stop.
        resumed: The run was paused and goes on.
    """

    name: str = ""
    framework: str = ""
    task: str | None = None
    conversation_id: str | None = None
    user_id: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    prompts: Mapping[str, str] = field(default_factory=dict)
    contract: Contract = Contract()
    resumed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageSent(Event):
    """One utterance of one agent, as a reader of the transcript counts it.

    Attributes:
        index: Row of the transcript, from 0.
        sender: Who spoke.
        recipients: To whom; empty when unknown.
        text: What was said; empty for a message that only calls tools; None when withheld.
        role: The sender's role in the transcript.
        kind: What sort of utterance it is.
        tool_calls: The tools it asks for.
    """

    index: int
    sender: str
    recipients: tuple[str, ...] = ()
    text: str | None = None
    role: Role = "assistant"
    kind: MessageKind = "reply"
    tool_calls: tuple[ToolRequest, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCalled(Event):
    """A model answered, or failed to. Not an utterance: that is the message it leads to.

    Attributes:
        index: Last row of the transcript when the call was made, -1 before the first.
        agent: Who asked.
        turn: The agent's turn it was made in, where the source knows. An agent may be called anew
            each turn, with a thread of its own, so requests of two turns need not follow on.
        model: The model's name.
        provider: As in ``gen_ai.provider.name``.
        request: The whole message list, a snapshot; None when the source withholds it.
        text: The answer's text; None when withheld.
        input_tokens, output_tokens: As reported.
        seconds: Duration.
        error: Exception type, fully qualified; None on success.
    """

    index: int
    agent: str = ""
    turn: str = ""
    model: str = ""
    provider: str = ""
    request: tuple[RequestMessage, ...] | None = None
    text: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    seconds: float | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCalled(Event):
    """A tool begins to run.

    Attributes:
        index: Row of the message that asked for it, or the last row.
        agent: Who asked.
        name: The tool.
        arguments: Parsed JSON, or the raw string.
        call_id: The provider's id of the call.
        mutating: Whether it changes the world; None when unknown.
        poll: The tool is meant to be asked again and again.
    """

    index: int
    agent: str
    name: str
    arguments: object = None
    call_id: str | None = None
    mutating: bool | None = None
    poll: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolReturned(Event):
    """A tool came back; its result is a row of the transcript.

    Attributes:
        index: Row of the transcript, from 0.
        agent: Who had asked.
        name: The tool; empty in logs that do not say.
        call_id: As in the ToolCalled it answers; without one they pair up by order.
        result: The full result as text; None when withheld.
        error: Exception type or HTTP status; None on success.
        seconds: Duration.
    """

    index: int
    agent: str
    name: str
    call_id: str | None = None
    result: str | None = None
    error: str | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedOff(Event):
    """Control passed from one agent to another; ``index`` is the last row."""

    index: int
    source: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanAsked(Event):
    """The run waits for a person, in the middle of a call; until its next event it is not idle."""

    index: int
    agent: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanReplied(Event):
    """A person answered, but not as a message of the transcript (an approval, a resume value)."""

    index: int
    agent: str = ""
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryCleared(Event):
    """The framework dropped an agent's history while the run was going; ``index``: last row."""

    index: int
    agent: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinished(Event):
    """The run, or with ``branch`` set a conversation inside it, is over (or waits for a person).

    Attributes:
        index: Last row of the transcript, -1 when there was none.
        outcome: How it ended.
        reason: The framework's own words.
        error: Exception type, fully qualified.
    """

    index: int = -1
    outcome: Outcome = "unknown"
    reason: str = ""
    error: str | None = None
