"""A finished run, whole: what the store keeps and the judge reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from mastwatch.events import Contract, Outcome, ToolRequest
from mastwatch.findings import Finding, Notice

TRACE_SCHEMA = 1
"""Version of a stored trace; readers migrate older ones."""

RowKind = Literal["opener", "reply", "human", "system", "code", "auto_reply", "tool", "thought"]
"""As ``events.MessageKind``; ``tool``: a tool's result; ``thought``: a private row of a log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRow:
    """One row of the transcript.

    Attributes:
        index: Its number, from 0, as findings and reports give it. A log may leave numbers out.
        agent: Who spoke, or who had called the tool.
        kind: What sort of row it is.
        text: What was said or came back; None when withheld.
        tool_calls: Tools the message asks for; for a tool result the call it answers, where that
            stands in no message.
        tool: For a tool result: the tool.
        error: For a tool result: exception type or HTTP status.
        recipients: To whom.
        at: Unix seconds; None in logs without times.
        span_id: Span that carries the row, 16 hexadecimal digits; empty when unknown.
        branch: Conversation inside the run; empty for the main one.
    """

    index: int
    agent: str
    kind: RowKind = "reply"
    text: str | None = None
    tool_calls: tuple[ToolRequest, ...] = ()
    tool: str = ""
    error: str | None = None
    recipients: tuple[str, ...] = ()
    at: float | None = None
    span_id: str = ""
    branch: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInput:
    """What a model was sent that stands in no row: kept once, however often it was sent.

    Attributes:
        before: Row before which it was first sent.
        agent: Who sent it.
        role: Its role in the request.
        text: The message.
        times: In how many requests it stood.
    """

    before: int
    agent: str
    role: str
    text: str
    times: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """One finished run.

    Attributes:
        run_id: The run.
        rows: Its transcript, by index.
        inputs: What models were sent beyond it.
        name, framework, task, conversation_id, user_id, tags, contract: As in ``RunStarted``.
        prompts: System prompt by agent.
        tools: Names of the tools an agent was seen to use, by agent.
        models: Names of the models that were called, in the order of their first call.
        release, environment: The host's.
        started, ended: Unix seconds; None in logs without times.
        outcome, reason, error: As in ``RunFinished``.
        findings, notices: What the detectors said while it ran.
        success, score, expected, comment: What the host said of it (``mastwatch.outcome``).
        trace_id: Trace of the run's root span, 32 hexadecimal digits; empty when unknown.
        span_id: That span, 16 hexadecimal digits.
        left_out: Rows beyond the recorder's bound, which are not in ``rows``.
        extra: What a recorded log says beside (labels): for evaluation, never for a judge.
    """

    run_id: str
    rows: tuple[TraceRow, ...] = ()
    inputs: tuple[ModelInput, ...] = ()
    name: str = ""
    framework: str = ""
    task: str | None = None
    conversation_id: str | None = None
    user_id: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    contract: Contract = field(default_factory=Contract)
    prompts: Mapping[str, str] = field(default_factory=dict)
    tools: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    models: tuple[str, ...] = ()
    release: str = ""
    environment: str = ""
    started: float | None = None
    ended: float | None = None
    outcome: Outcome = "unknown"
    reason: str = ""
    error: str | None = None
    findings: tuple[Finding, ...] = ()
    notices: tuple[Notice, ...] = ()
    success: bool | None = None
    score: float | None = None
    expected: str | None = None
    comment: str | None = None
    trace_id: str = ""
    span_id: str = ""
    left_out: int = 0
    extra: Mapping[str, object] = field(default_factory=dict)

    @property
    def agents(self) -> tuple[str, ...]:
        """Who spoke, in the order of their first words; tool results and harness lines left out."""
        spoke = (row.agent for row in self.rows if row.kind not in ("tool", "system", "thought"))
        return tuple(dict.fromkeys(name for name in spoke if name))
