"""A stretch of a run with a span of its own: an agent's turn, a model call, a tool call."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.trace import Status, StatusCode

from mastwatch.events import ModelCalled, RequestMessage, ToolReturned
from mastwatch.spans import semconv
from mastwatch.spans.hops import with_run

if TYPE_CHECKING:
    from mastwatch.spans.run import Run

current_scope: ContextVar[Scope | None] = ContextVar("mastwatch_scope", default=None)
latest_call: ContextVar[ModelCall | None] = ContextVar("mastwatch_model_call", default=None)
"""The model call that began last in this context; it may be over."""


def error_type(error: BaseException) -> str:
    """Fully qualified exception type, builtins unqualified (as util-genai does).

    >>> error_type(ValueError("x"))
    'ValueError'
    """
    kind = type(error)
    if kind.__module__ in ("builtins", "__main__"):
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


class Scope:
    """A stretch of a run with a span of its own: the run, a turn, a model call, a tool call.

    ``span`` is None where another producer's spans stand for ours; ``turn_id`` names the agent's
    turn it belongs to, empty outside any.
    """

    def __init__(self, run: Run | None, span: trace.Span | None, agent: str = "") -> None:
        self.run: Run = run if run is not None else self  # type: ignore[assignment]
        self.span = span
        self.agent = agent
        self.started = run.emitter.clock() if run is not None else time.time()
        self.carries: int | None = None
        self.turn_id = ""
        self._ended = False
        self._borrowed = False

    def is_free(self) -> bool:
        """Whether it can carry an utterance: open, with a span, carrying none, and no run."""
        return (
            self.span is not None
            and self.carries is None
            and not self._ended
            and self.run is not self
        )

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Make this the current scope and span for the ``with`` block.

        Only within one call frame of our own: never across a ``yield`` or a pair of callbacks.
        """
        before, around = current_scope.get(), otel_context.get_current()
        context = trace.set_span_in_context(self.span) if self.span else around
        if self.run.emitter.propagate:
            context = with_run(self.run.id, context)
        current_scope.set(self)
        otel_context.attach(context)
        try:
            yield
        finally:
            # A host's block may end in another context than it began in (an async generator): then
            # there is nothing of ours to take back, or a copy of it, which no token fits.
            if otel_context.get_current() is context:
                otel_context.attach(around)
            if current_scope.get() is self:
                current_scope.set(before)

    def borrow(self, span: trace.Span) -> None:
        """Write on the span that another producer has of the same; its end stays theirs."""
        self.span, self._borrowed = span, True
        about = {semconv.AGENT_NAME: self.agent, **self.run.core.identity}
        if self.run.branch:
            about[semconv.RUN_BRANCH] = self.run.branch
        span.set_attributes(about)

    def steps(self) -> Steps:
        """What makes this the current scope for each step of a generator."""
        return Steps(self)

    def end(self, error: BaseException | str | None = None, *, at: float | None = None) -> None:
        """End the span, once.

        Args:
            error: What went wrong: the exception, or the type's name alone.
            at: Unix time in seconds at which the work was over, where that was earlier than now.
        """
        if self._ended:
            return
        self._ended = True
        if self.span is not None and not self._borrowed:
            if error is not None:
                _set_error(self.span, error)
            self.span.end(None if at is None else int(at * 1e9))


class Steps:
    """Makes a scope current while a generator works, and nothing while its consumer does.

    A library's own ``with`` block around a ``yield`` leaves its span current: the generator finds
    that again at its next step, the consumer what it had before.
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._inside = trace.set_span_in_context(scope.span) if scope.span is not None else None

    @contextmanager
    def step(self) -> Iterator[None]:
        """One step: from the consumer's request to the next item or the end."""
        before = current_scope.get()
        current_scope.set(self._scope)
        token = otel_context.attach(self._inside or otel_context.get_current())
        try:
            yield
        finally:
            self._inside = otel_context.get_current()
            otel_context.detach(token)
            current_scope.set(before)


class ModelCall(Scope):
    """A model call under way."""

    def __init__(
        self,
        run: Run,
        span: trace.Span | None,
        agent: str,
        model: str,
        provider: str,
        request: tuple[RequestMessage, ...] | None,
        turn_id: str = "",
    ) -> None:
        super().__init__(run, span, agent)
        self.turn_id = turn_id
        self._event_id = run.next_id()
        self._model = model
        self._provider = provider
        self._request = request
        self._answered = False
        self._usage: tuple[int | None, int | None] = (None, None)
        # Hooks on callback pairs cannot attach a scope: this tells the library below whose call
        # it is. No token is kept: what counts is whether the call is still open.
        latest_call.set(self)

    @property
    def waiting(self) -> bool:
        """Whether the answer is still to come."""
        return not self._answered and not self._ended

    def enrich(
        self,
        *,
        model: str = "",
        provider: str = "",
        input_tokens: int | None = None,
        output_tokens: int | None = None,
    ) -> None:
        """Add what the library below knows of the same call; what was said above stays.

        Args:
            model: The model's name.
            provider: As in ``gen_ai.provider.name``.
            input_tokens: As reported.
            output_tokens: As reported.
        """
        if not self.waiting:
            return
        about = {
            semconv.REQUEST_MODEL: "" if self._model else model,
            semconv.PROVIDER_NAME: "" if self._provider else provider,
        }
        self._model = self._model or model
        self._provider = self._provider or provider
        before_in, before_out = self._usage
        self._usage = (
            before_in if input_tokens is None else input_tokens,
            before_out if output_tokens is None else output_tokens,
        )
        if self.span is not None:
            self.span.set_attributes({key: value for key, value in about.items() if value})

    def answered(
        self,
        text: str | None = None,
        *,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        error: BaseException | str | None = None,
    ) -> None:
        """Publish what came back, once; the span stays open until ``end`` so that it can carry.

        Args:
            text: The answer; None when withheld or failed.
            input_tokens: As reported.
            output_tokens: As reported.
            error: What went wrong.
        """
        if self._answered:
            return
        self._answered = True
        run = self.run
        now = run.emitter.clock()
        if (input_tokens, output_tokens) == (None, None):
            input_tokens, output_tokens = self._usage
        if self.span is not None:
            usage = {semconv.INPUT_TOKENS: input_tokens, semconv.OUTPUT_TOKENS: output_tokens}
            self.span.set_attributes({k: v for k, v in usage.items() if v is not None})
        run.publish(
            ModelCalled(
                run_id=run.id,
                at=now,
                id=self._event_id,
                branch=run.branch,
                index=run.last_index,
                agent=self.agent,
                turn=self.turn_id,
                model=self._model,
                provider=self._provider,
                request=self._request,
                text=text,
                input_tokens=input_tokens,
                output_tokens=output_tokens,
                seconds=now - self.started,
                error=error_name(error),
            ),
            self.span,
        )
        self._request = None  # a context may remember this call for long


class ToolCall(Scope):
    """A tool call under way."""

    def __init__(
        self, run: Run, span: trace.Span | None, agent: str, name: str, call_id: str | None
    ) -> None:
        super().__init__(run, span, agent)
        self.name = name
        self.call_id = call_id
        self.event_id = run.next_id()
        self.turn_id = self.event_id  # who asks a model inside a tool has a thread of its own
        # Where another producer's span is expected: what to write on it, or else makes one of ours.
        self.about: Mapping[str, Any] = {}
        self.late_span: Callable[[], trace.Span | None] | None = None
        self._returned = False

    def borrow(self, span: trace.Span) -> None:
        """Write on the span that another producer has of the same; its end stays theirs."""
        super().borrow(span)
        span.set_attributes(dict(self.about))

    def returned(
        self, result: str | None = None, *, error: BaseException | str | None = None
    ) -> int | None:
        """Publish the result as the next row of the transcript, once, and end the span.

        Args:
            result: The full result as text; None when withheld.
            error: The exception, or the type's name or HTTP status alone.

        Returns:
            Its row; None when it had returned already.
        """
        if self._returned:
            return None
        self._returned = True
        if self.span is None and self.late_span is not None:
            self.span = self.late_span()  # the other producer had none of it
        run, now = self.run, self.run.emitter.clock()
        content = run.emitter.content
        # A span of others may be over by now: what fires goes on the run's.
        over = self._borrowed and self.span is not None and not self.span.is_recording()
        span = None if over else self.span
        if span is not None and content.capture and result is not None:
            span.set_attribute(semconv.TOOL_CALL_RESULT, content.clean(result)[0])
        with run.core.lock:
            index = run.core.rows
            run.core.rows += 1
            event = ToolReturned(
                run_id=run.id,
                at=now,
                id=self.event_id,
                branch=run.branch,
                index=index,
                agent=self.agent,
                name=self.name,
                call_id=self.call_id or self.event_id,
                result=result,
                error=error_name(error),
                seconds=now - self.started,
            )
            verdicts = run.emitter.watch.observe(event)
        run.deliver(event, verdicts, span)
        self.end(error, at=now)
        return index


def error_name(error: BaseException | str | None) -> str | None:
    """The type of an exception; a name given as text is taken as it is."""
    return error_type(error) if isinstance(error, BaseException) else error


def _set_error(span: trace.Span, error: BaseException | str) -> None:
    # No message: it may quote the host's data, and text leaves the process only where asked for.
    name = error_name(error) or "_OTHER"
    span.set_attribute(semconv.ERROR_TYPE, name)
    span.set_status(Status(StatusCode.ERROR, name))
