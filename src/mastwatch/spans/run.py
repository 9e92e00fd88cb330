"""One run, or a branch of it: opens turns, model and tool calls, and says what was uttered."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from opentelemetry import trace
from opentelemetry.trace import SpanKind

from mastwatch.events import (
    Event,
    HandedOff,
    HistoryCleared,
    HumanAsked,
    HumanReplied,
    MessageKind,
    MessageSent,
    Outcome,
    RequestMessage,
    Role,
    RunFinished,
    ToolCalled,
    ToolRequest,
)
from mastwatch.findings import Finding
from mastwatch.spans import attributes, semconv
from mastwatch.spans.content import to_json
from mastwatch.spans.core import Core, Verdict, firing, told_on
from mastwatch.spans.scope import ModelCall, Scope, ToolCall, error_name

if TYPE_CHECKING:
    from mastwatch.spans.emit import Emitter


class Run(Scope):
    """One run, or a branch of it: a nested chat or parallel worker with a conversation of its own.

    Branches share the run's id, trace and row numbers; detectors watch each by itself.
    """

    def __init__(
        self,
        emitter: Emitter,
        core: Core,
        branch: str,
        parent: Scope | None,
        framework: str,
        spans: bool = True,
    ) -> None:
        super().__init__(None, core.span if parent is None else parent.span)
        self.emitter = emitter
        self.core = core
        self.branch = branch
        self.parent = parent
        self.framework = framework
        self.spans = spans  # a branch may be traced by others though the run around it is not
        self._branch_finished = False

    @property
    def id(self) -> str:
        """The run's id, shared by its branches."""
        return self.core.id

    @property
    def parentage(self) -> dict[str, str]:
        """The tag that names the run of another process which this one is part of, if any."""
        parent = "" if self.branch else self.core.parent_id
        return {semconv.RUN_PARENT_ID: parent} if parent else {}

    @property
    def finished(self) -> bool:
        """Whether the run (or this branch) is over."""
        return self._branch_finished or self.core.finished

    @property
    def last_index(self) -> int:
        """Last row of the transcript so far, -1 before the first."""
        return self.core.rows - 1

    def publish(self, event: Event, span: trace.Span | None = None) -> None:
        """Send an Event; verdicts are written on ``span`` (the run's by default)."""
        watch = self.emitter.watch
        with self.core.lock:
            verdicts = watch.observe(event)
        self.deliver(event, verdicts, span)

    def deliver(
        self, event: Event, verdicts: list[Verdict] | None, span: trace.Span | None
    ) -> None:
        """Hand an observed event's verdicts to the sinks, who find its span in ``firing``."""
        for verdict in verdicts or ():
            if isinstance(verdict, Finding):
                worst = self.core.max_severity
                self.core.max_severity = max(worst or verdict.severity, verdict.severity)
        before = getattr(firing, "span", None)
        firing.span = span or told_on.get() or self.core.span or trace.get_current_span()
        try:
            self.emitter.watch.deliver(event, verdicts)
        finally:
            firing.span = before

    def next_id(self) -> str:
        """An id for an event of this run that its source gives none."""
        return f"#{next(self.core.ids)}"

    def turn(
        self, agent: str, *, parent: Scope | None = None, borrowed: trace.Span | None = None
    ) -> Scope:
        """Open an agent's turn, an ``invoke_agent`` span.

        Args:
            agent: Its name.
            parent: The run by default.
            borrowed: The span that the library itself has of this turn, in place of one of ours.
        """
        about = {
            semconv.OPERATION_NAME: semconv.INVOKE_AGENT,
            semconv.AGENT_NAME: agent,
        }
        if borrowed is None:
            scope = Scope(self, self._span(f"{semconv.INVOKE_AGENT} {agent}", about, parent), agent)
        else:
            scope = Scope(self, None, agent)
            scope.borrow(borrowed)
        scope.turn_id = self.next_id()
        return scope

    def model_call(
        self,
        *,
        agent: str,
        model: str = "",
        provider: str = "",
        request: tuple[RequestMessage, ...] | None = None,
        parent: Scope | None = None,
    ) -> ModelCall:
        """Open a model call, a ``chat`` span."""
        about = {semconv.OPERATION_NAME: semconv.CHAT, semconv.AGENT_NAME: agent}
        if provider:
            about[semconv.PROVIDER_NAME] = provider
        if model:
            about[semconv.REQUEST_MODEL] = model
        name = f"{semconv.CHAT} {model}" if model else semconv.CHAT
        span = self._span(name, about, parent, SpanKind.CLIENT)
        turn_id = parent.turn_id if parent is not None else ""
        return ModelCall(self, span, agent, model, provider, request, turn_id)

    def tool_call(
        self,
        name: str,
        arguments: object = None,
        *,
        agent: str,
        call_id: str | None = None,
        parent: Scope | None = None,
        index: int | None = None,
        mutating: bool | None = None,
        poll: bool = False,
        started: float | None = None,
        own_span: bool = True,
    ) -> ToolCall:
        """Open a tool call, an ``execute_tool`` span; ``index`` is the row that asked for it.

        ``started`` is the Unix time at which it began, where that is known to be earlier than now.
        ``own_span`` is False where the library is about to open a span of the call, to be borrowed
        then; if it does not, ours is made as the call returns.
        """
        about = {
            semconv.OPERATION_NAME: semconv.EXECUTE_TOOL,
            semconv.TOOL_NAME: name,
            semconv.TOOL_TYPE: "function",
            semconv.AGENT_NAME: agent,
        }
        if call_id:
            about[semconv.TOOL_CALL_ID] = call_id
        content = self.emitter.content
        if content.capture:
            about[semconv.TOOL_CALL_ARGUMENTS] = content.clean(to_json(arguments))[0]
        span_name = f"{semconv.EXECUTE_TOOL} {name}"
        span = self._span(span_name, about, parent, started=started) if own_span else None
        call = ToolCall(self, span, agent, name, call_id)
        call.started = started or call.started
        if not own_span:
            make = functools.partial(self._span, span_name, about, parent, started=call.started)
            call.late_span, call.about = make, about
        self.publish(
            ToolCalled(
                **self._about(call.event_id),
                index=self.last_index if index is None else index,
                agent=agent,
                name=name,
                arguments=arguments,
                call_id=call_id or call.event_id,
                mutating=mutating,
                poll=poll,
            ),
            span,
        )
        return call

    def message(
        self,
        sender: str,
        text: str | None,
        *,
        recipients: Sequence[str] = (),
        role: Role = "assistant",
        kind: MessageKind = "reply",
        tool_calls: Sequence[ToolRequest] = (),
        carriers: Sequence[Scope | None] = (),
        id: str | None = None,
    ) -> int:
        """Say that an agent uttered something; exactly one span will carry it.

        Args:
            sender: Who spoke.
            text: The full text; None when withheld.
            recipients: To whom.
            role: The sender's role.
            kind: What sort of utterance.
            tool_calls: The tools it asks for.
            carriers: Scopes that may carry it, best first: the first one still open and free does.
                With none free a short ``agent_message`` span is made below the first of them. The
                run itself never carries.
            id: The framework's id of the message, if it is truly unique per utterance.

        Returns:
            Its row of the transcript.
        """
        calls = tuple(tool_calls)
        with self.core.lock:
            index = self.core.rows
            self.core.rows += 1
            event = MessageSent(
                **self._about(id),
                index=index,
                sender=sender,
                recipients=tuple(recipients),
                text=text,
                role=role,
                kind=kind,
                tool_calls=calls,
            )
            verdicts = self.emitter.watch.observe(event)
        span, ours = self._carrier(sender, index, carriers)
        span.set_attributes(attributes.of_message(event, self.emitter.content))
        self.deliver(event, verdicts, span)
        if ours:
            span.end()
        return index

    def _carrier(
        self, sender: str, index: int, carriers: Sequence[Scope | None]
    ) -> tuple[trace.Span, bool]:
        for scope in carriers:
            if scope and scope.span and scope.is_free():
                scope.carries = index
                return scope.span, False
        if told_on.get() is not None:  # the span that said it has ended
            return trace.INVALID_SPAN, False
        if not self.spans:
            foreign = trace.get_current_span()
            has = getattr(foreign, "attributes", None) or {}
            free = foreign.is_recording() and semconv.MESSAGE_INDEX not in has
            # Neither a span of ours around it, nor that of another agent's turn (a manager's).
            if free and foreign is not self.span and has.get(semconv.AGENT_NAME, sender) == sender:
                foreign.set_attributes(self.core.identity)
                return foreign, False
        parent = next((scope for scope in carriers if scope and scope.span), None)
        name = f"{semconv.AGENT_MESSAGE} {sender}"
        return self._start(name, {semconv.AGENT_NAME: sender}, parent), True

    def handed_off(self, source: str, target: str) -> None:
        """Say that control passed from one agent to another."""
        if self.core.span is not None:
            self.core.span.add_event(
                semconv.HANDOFF_EVENT,
                {semconv.HANDOFF_FROM: source, semconv.HANDOFF_TO: target},
            )
        last = self.last_index
        self.publish(HandedOff(**self._about(), index=last, source=source, target=target))

    def human_asked(self, agent: str = "") -> None:
        """Say that the run waits for a person from here to its next event."""
        self.publish(HumanAsked(**self._about(), index=self.last_index, agent=agent))

    def human_replied(self, agent: str = "", text: str | None = None) -> None:
        """Say that a person answered, other than by a message of the transcript."""
        last = self.last_index
        self.publish(HumanReplied(**self._about(), index=last, agent=agent, text=text))

    def history_cleared(self, agent: str) -> None:
        """Say that the framework dropped an agent's history in mid-run."""
        self.publish(HistoryCleared(**self._about(), index=self.last_index, agent=agent))

    def _about(self, id: str | None = None) -> dict[str, Any]:
        """What every event of this run says of itself."""
        return {
            "run_id": self.id,
            "at": self.emitter.clock(),
            "id": id or self.next_id(),
            "branch": self.branch,
        }

    def set_outcome(self, success: bool | None, score: float | None) -> None:
        """Put the host's verdict on the run's span."""
        if self.core.span is not None:
            said = {semconv.OUTCOME_SUCCESS: success, semconv.OUTCOME_SCORE: score}
            self.core.span.set_attributes({k: v for k, v in said.items() if v is not None})

    def finish(
        self,
        outcome: Outcome,
        reason: str = "",
        error: BaseException | str | None = None,
    ) -> None:
        """End the run (or branch), once. ``paused`` leaves it resumable by its conversation id."""
        with self.core.lock:
            if self.finished:
                return
            if self.branch:
                self._branch_finished = True
            else:
                self.core.finished = True
        interventions = self.emitter.interventions
        if interventions is not None and (halted := interventions.ending(self.id)):
            outcome, reason, error = "cancelled", halted, None
        event = RunFinished(
            run_id=self.id,
            at=self.emitter.clock(),
            branch=self.branch,
            index=self.last_index,
            outcome=outcome,
            reason=reason,
            error=error_name(error),
        )
        self.publish(event)
        self.core.reason = reason or self.core.reason
        if self.branch:
            return
        if outcome == "paused":
            self.emitter.put_waiting(self.framework, self.core)
        self._finish_span(outcome, self.core.reason, error)

    def _finish_span(
        self, outcome: Outcome, reason: str, error: BaseException | str | None
    ) -> None:
        span = self.core.span
        if span is None:
            return
        about: dict[str, Any] = {semconv.RUN_OUTCOME: outcome}
        if reason:
            about[semconv.TERMINATION_REASON] = reason
            span.add_event(semconv.TERMINATION_EVENT, {semconv.TERMINATION_REASON: reason})
        if self.core.max_severity is not None:
            about[semconv.RUN_MAX_SEVERITY] = self.core.max_severity.label
        span.set_attributes(about)
        self.end(error if outcome == "error" else None)

    def _span(
        self,
        name: str,
        about: Mapping[str, Any],
        parent: Scope | None,
        kind: SpanKind = SpanKind.INTERNAL,
        started: float | None = None,
    ) -> trace.Span | None:
        return self._start(name, about, parent, kind, started) if self.spans else None

    def _start(
        self,
        name: str,
        about: Mapping[str, Any],
        parent: Scope | None,
        kind: SpanKind = SpanKind.INTERNAL,
        started: float | None = None,
    ) -> trace.Span:
        above = parent.span if parent is not None and parent.span is not None else self.span
        context = trace.set_span_in_context(above) if above is not None else None
        identity = self.core.identity
        if self.branch:
            identity = {**identity, semconv.RUN_BRANCH: self.branch}
        return self.emitter.tracer.start_span(
            name,
            context=context,
            kind=kind,
            attributes={**about, **identity},
            start_time=None if started is None else int(started * 1e9),
        )
