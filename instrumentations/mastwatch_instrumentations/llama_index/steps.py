"""The frames of an agent's steps, and of the model calls and tool calls in them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from mastwatch.spans.emit import Emitter, ModelCall, Scope, ToolCall
from mastwatch_instrumentations._patch import Frame, argument
from mastwatch_instrumentations.llama_index import library, reading
from mastwatch_instrumentations.llama_index.runs import Session, here, keep

_step: ContextVar[StepFrame | None] = ContextVar("mastwatch_llama_index_step", default=None)


class StepFrame:
    """One step of an agent: it asks its model once, and says what came back."""

    def __init__(self, session: Session, turn: Scope, limit: str = "") -> None:
        self.turn = turn
        self.call: ModelCall | None = None
        self._session = session
        self._limit = limit
        session.under_way.add(self)

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Make the turn the current scope."""
        token = _step.set(self)
        try:
            with self.turn.attached():
                yield
        finally:
            _step.reset(token)

    def done(self, result: Any) -> None:
        """Say what the agent says; an answer without a wish for more ends its turn."""
        self._session.under_way.discard(self)
        output = getattr(result, "result", None) or result  # a StopEvent, where it was forced
        text, requests = reading.said(output)
        if self._limit:
            self._session.limit, requests = self._limit, ()
        call = self.call
        if call is not None:
            spent, made = reading.usage_of(getattr(output, "raw", None))
            call.answered(reading.text_of(output.response), input_tokens=spent, output_tokens=made)
        final = not requests and not getattr(output, "retry_messages", None)
        carriers = (self.turn, call) if final else (call, self.turn)
        index = self._session.run.message(
            self.turn.agent, text, tool_calls=requests, carriers=carriers
        )
        for request in requests:
            keep(self._session.rows, request.call_id or "", index)
        if call is not None:
            call.end()
        if final:
            self._session.end_turn()

    def failed(self, error: BaseException) -> None:
        """Close the model call; the turn ends with the run."""
        self._session.under_way.discard(self)
        if self.call is not None:
            self.call.answered(error=error)
            self.call.end(error)


class ModelFrame:
    """A call of a model's method. In a step the answer is told by the step, streamed or not."""

    def __init__(self, call: ModelCall, in_step: bool) -> None:
        self._call = call
        self._in_step = in_step

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Make it the current scope."""
        with self._call.attached():
            yield

    def done(self, result: Any) -> None:
        """Record an answer that no step tells."""
        if self._in_step:
            return
        spent, made = reading.usage_of(getattr(result, "raw", None))
        message = getattr(result, "message", None)
        text = getattr(result, "text", None) if message is None else reading.text_of(message)
        self._call.answered(text, input_tokens=spent, output_tokens=made)
        self._call.end()

    def failed(self, error: BaseException) -> None:
        """Record the failure."""
        self._call.answered(error=error)
        self._call.end(error)


class ToolFrame:
    """A tool call; LlamaIndex catches what the tool raises."""

    def __init__(self, session: Session, call: ToolCall, key: str) -> None:
        self._session = session
        self._call = call
        self._key = key
        session.under_way.add(self)

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Make it the current scope."""
        with self._call.attached():
            yield

    def done(self, result: Any) -> None:
        """Record a ``ToolCallResult``."""
        self._session.under_way.discard(self)
        output = result.tool_output
        self._call.returned(str(output.content or ""), error=reading.tool_error(output))

    def failed(self, error: BaseException) -> None:
        """Record the failure, unless the tool only waits: then its step runs again later."""
        self._session.under_way.discard(self)
        if library.is_wait(error):
            keep(self._session.waiting, self._key, self._call)
            return
        self._call.returned(error=error)


class Steps:
    """Opens the frames of steps, model calls and tool calls."""

    def __init__(self, emitter: Emitter) -> None:
        self._emitter = emitter

    def take(self, agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Frame | None:
        """Open the frame of an agent's ``take_step(ctx, llm_input, tools, memory)``."""
        session = self._session()
        if session is None or _step.get() is not None:
            return None
        return StepFrame(session, session.turn_of(str(agent.name)))

    def stop_early(
        self, workflow: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Frame | None:
        """Open the frame of ``_generate_early_stopping_response(ctx, ..., max_iterations)``."""
        session = self._session()
        if session is None or session.turn is None:
            return None
        most = kwargs.get("max_iterations", args[-1] if args else "?")
        return StepFrame(session, session.turn, f"Max iterations of {most} reached")

    def ask(self, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Frame | None:
        """Open the frame of a model's ``achat(messages)`` or its like."""
        scope, step = self._emitter.current(), _step.get()
        if scope is None or here.get() is None or self._emitter.suppressed():
            return None
        if self._emitter.model_call_here() is not None:
            return None
        messages = args[0] if args else kwargs.get("messages", kwargs.get("prompt"))
        name, provider = reading.model_of(model)
        in_step = step is not None and step.call is None and scope is step.turn
        call = scope.run.model_call(
            agent=step.turn.agent if step is not None else scope.agent,
            model=name,
            provider=provider,
            request=reading.request_of(messages),
            parent=scope,
        )
        if in_step and step is not None:
            step.call = call
        return ModelFrame(call, in_step)

    def ask_for_stream(
        self, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Frame | None:
        """Open the frame of ``astream_chat(messages)``, where the step around tells of its end."""
        step = _step.get()
        if step is None or step.call is not None or self._emitter.current() is not step.turn:
            return None
        return self.ask(model, args, kwargs)

    def tool(self, workflow: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Frame | None:
        """Open the frame of the step ``call_tool(ctx, ev)``."""
        session, ev = self._session(), argument(args, kwargs, 1, "ev")
        if session is None or ev is None:
            return None
        key = str(ev.tool_id)
        call = session.waiting.pop(key, None)
        if call is None:
            call = session.run.tool_call(
                str(ev.tool_name),
                dict(ev.tool_kwargs),
                agent=session.turn.agent if session.turn is not None else "",
                call_id=key,
                parent=session.turn,
                index=session.rows.pop(key, None),
            )
        return ToolFrame(session, call, key)

    def _session(self) -> Session | None:
        """The workflow whose step we are in, and not inside one of its tools."""
        session = here.get()
        if session is None or session.run.finished or self._emitter.suppressed():
            return None
        return session if self._emitter.current() is session.run else None
