"""What a run and its branches share while they go on."""

from __future__ import annotations

import itertools
import threading
import uuid
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any, TypeAlias

from opentelemetry import trace
from opentelemetry.context import Context

from mastwatch.findings import Finding, Notice, Severity
from mastwatch.spans import semconv

Verdict: TypeAlias = Finding | Notice

firing = threading.local()
"""``firing.span``: the span of the event that is being delivered on this thread."""

told_on: ContextVar[trace.Span | None] = ContextVar("mastwatch_told_on", default=None)
"""Set while spans of others are told: where findings go. No span carries what is said there."""


def firing_ids() -> tuple[str, str]:
    """Hexadecimal ids of the trace and the span of the event being delivered; empty if none."""
    span: trace.Span | None = getattr(firing, "span", None)
    context = span.get_span_context() if span is not None else trace.INVALID_SPAN_CONTEXT
    if not context.is_valid:
        return "", ""
    return trace.format_trace_id(context.trace_id), trace.format_span_id(context.span_id)


class Core:
    """What a run and its branches share: identity, row counter, lock, the run's span.

    Args:
        resumed: The paused run it goes on with.
        framework: Label on spans.
        conversation_id: The framework's thread or session id.
        spans: Whether it opens spans at all.
    """

    def __init__(
        self, resumed: Core | None, framework: str, conversation_id: str | None, spans: bool
    ) -> None:
        self.resumed = resumed is not None
        self.id: str = resumed.id if resumed else uuid.uuid4().hex
        self.rows: int = resumed.rows if resumed else 0
        self.conversation_id = conversation_id
        self.parent_id = ""  # of the run in another process that it is part of
        self.spans = spans
        self.finished = False
        self.max_severity: Severity | None = None
        self.reason = ""  # of the latest end: a run of the host's own says what ended in it
        self.span: trace.Span | None = None
        self.lock = threading.RLock()  # orders rows and observation of one run
        self.ids: Iterator[int] = itertools.count(self.rows + 1) if resumed is None else resumed.ids
        self._branches: Iterator[int] = itertools.count(1) if resumed is None else resumed._branches
        self.identity: dict[str, Any] = {
            semconv.RUN_ID: self.id,
            semconv.FRAMEWORK: framework,
        }
        if conversation_id:
            self.identity[semconv.CONVERSATION_ID] = conversation_id

    def new_branch(self) -> str:
        """Name the next branch."""
        return str(next(self._branches))

    def span_context(self) -> Context | None:
        """The context in which the run's span is the parent."""
        return None if self.span is None else trace.set_span_in_context(self.span)
