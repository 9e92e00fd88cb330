"""What happens in a run or a branch: turns, model and tool calls, and what is uttered."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from opentelemetry import trace
from opentelemetry.trace import SpanKind

from mastwatch.events import (
    HandedOff,
    HistoryCleared,
    HumanAsked,
    HumanReplied,
    MessageKind,
    MessageSent,
    RequestMessage,
    Role,
    ToolCalled,
    ToolRequest,
)
from mastwatch.spans import attributes, semconv
from mastwatch.spans.content import to_json
from mastwatch.spans.core import told_on
from mastwatch.spans.run_base import RunBase
from mastwatch.spans.scope import ModelCall, Scope, ToolCall


class Run(RunBase):
    """One run, or a branch of it: a nested chat or parallel worker with a conversation of its own.

    Branches share the run's id, trace and row numbers; detectors watch each by itself.
    """

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
        if span is not None:
            span.set_attributes(attributes.of_message(event, self.emitter.content))
        self.deliver(event, verdicts, span)
        if span is not None and ours:
            span.end()
        return index

    def _carrier(
        self, sender: str, index: int, carriers: Sequence[Scope | None]
    ) -> tuple[trace.Span | None, bool]:
        for scope in carriers:
            if scope and scope.span and scope.is_free():
                scope.carries = index
                return scope.span, False
        if told_on.get() is not None:  # the span that said it has ended
            return None, False
        if not self.spans:
            foreign = trace.get_current_span()
            has = getattr(foreign, "attributes", None) or {}
            free = foreign.is_recording() and semconv.MESSAGE_INDEX not in has
            # Neither a span of ours around it, nor that of another agent's turn (a manager's).
            named = has.get(semconv.AGENT_NAME)
            if free and foreign is not self.span and named in (None, "unknown", sender):
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
