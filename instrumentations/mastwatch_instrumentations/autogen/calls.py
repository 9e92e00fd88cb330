"""The frames of model calls and tool calls."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mastwatch.spans.emit import ModelCall, Run, Scope, ToolCall
from mastwatch_instrumentations._patch import Frame, argument
from mastwatch_instrumentations.autogen import reading
from mastwatch_instrumentations.autogen.tracker import Tracker
from mastwatch_instrumentations.autogen.turns import quiet


class Question:
    """A person is asked: until the answer comes the run waits and is not idle."""

    def __init__(self, run: Run, agent: str) -> None:
        self._run = run
        self._agent = agent

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Tell that the run waits."""
        self._run.human_asked(self._agent)
        yield

    def done(self, reply: Any) -> None:
        """Tell of an answer that is no message; any other is told when it is sent."""
        if reply in ("", "exit"):
            self._run.human_replied(self._agent, reply)

    def failed(self, error: BaseException) -> None:
        """Nothing to add: the turn tells of it."""


class ModelFrame:
    """A model call: ``_generate_oai_reply_from_client``, or a bare ``OpenAIWrapper.create``.

    Args:
        call: Its span.
        hushed: A call of the speaker selection: a span, but no Event.
    """

    def __init__(self, models: Models, call: ModelCall, hushed: bool) -> None:
        self.call = call
        self.tokens: tuple[int | None, int | None] = (None, None)
        self._models = models
        self._hushed = hushed

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Make it the current scope."""
        self._models.opened[self.call] = self
        try:
            with self.call.attached():
                yield
        finally:
            self._models.opened.pop(self.call, None)

    def done(self, result: Any) -> None:
        """Record the answer; ``result`` is what AG2 took from it, or the response itself."""
        try:
            if not self._hushed:
                self._answered(result)
        finally:
            self.call.end()

    def _answered(self, result: Any) -> None:
        text = result if isinstance(result, (str, dict)) else _response_text(result)
        if self.tokens == (None, None):
            self.tokens = reading.usage(result)
        spent, made = self.tokens
        self.call.answered(
            None if text is None else reading.message_text(text),
            input_tokens=spent,
            output_tokens=made,
        )

    def failed(self, error: BaseException) -> None:
        """Record the failure."""
        try:
            if not self._hushed:
                self.call.answered(error=error)
        finally:
            self.call.end(error)


class _Usage:
    """The frame of the ``create`` inside a model call: it knows the tokens."""

    def __init__(self, around: ModelFrame) -> None:
        self._around = around

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Change nothing."""
        yield

    def done(self, result: Any) -> None:
        """Note the tokens."""
        self._around.tokens = reading.usage(result)

    def failed(self, error: BaseException) -> None:
        """Leave it to the call around, which sees the same exception."""


class Models:
    """Opens the frames of model calls."""

    def __init__(self, tracker: Tracker) -> None:
        self._tracker = tracker
        self.opened: dict[Scope, ModelFrame] = {}  # while the host's call is on the stack

    def reply(self, agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Frame | None:
        """Open the call behind an agent's reply: ``(llm_client, messages, cache)``."""
        client = argument(args, kwargs, 0, "llm_client")
        return self._begin(agent, client, argument(args, kwargs, 1, "messages") or ())

    def create(self, client: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Frame | None:
        """Open a call that an agent's own code makes; one inside ``reply`` is that same call."""
        scope = self._tracker.emitter.current()
        if isinstance(scope, ModelCall):
            return _Usage(self.opened[scope]) if scope in self.opened else None
        return self._begin(kwargs.get("agent"), client, kwargs.get("messages") or ())

    def _begin(self, agent: Any, client: Any, messages: Any) -> ModelFrame | None:
        tracker = self._tracker
        scope, turn = tracker.place_of(agent, messages)
        hushed = quiet() or (turn is not None and turn.hushed)
        if scope is None or tracker.emitter.suppressed():
            return None
        if turn is not None:
            turn.model_called = True
        call = scope.run.model_call(
            agent=agent if isinstance(agent, str) else getattr(agent, "name", "") or scope.agent,
            model=reading.model_name(client),
            provider=reading.provider_name(client),
            request=None if hushed else reading.request_messages(messages),
            parent=scope,
        )
        return ModelFrame(self, call, hushed)


class ToolFrame:
    """A tool call. AG2 catches what the tool raises and returns it as text."""

    def __init__(self, call: ToolCall) -> None:
        self._call = call

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Make it the current scope."""
        with self._call.attached():
            yield

    def done(self, result: Any) -> None:
        """Record ``(is_exec_success, {"content": ...})``."""
        try:
            fine, answer = result
            text = reading.result_text(answer.get("content"))
            self._call.returned(text, error=None if fine else reading.tool_error(text))
        finally:
            self._call.end()

    def failed(self, error: BaseException) -> None:
        """Record what even AG2 does not catch."""
        try:
            self._call.returned(error=error)
        finally:
            self._call.end(error)


class Tools:
    """Opens the frames of tool calls."""

    def __init__(self, tracker: Tracker) -> None:
        self._tracker = tracker

    def execute(self, agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Frame | None:
        """Open a call: ``(func_call, call_id, verbose)``."""
        scope, _ = self._tracker.place_of(agent)
        if scope is None or quiet() or self._tracker.emitter.suppressed():
            return None
        function = argument(args, kwargs, 0, "func_call")
        call_id = argument(args, kwargs, 1, "call_id")
        chat = self._tracker.chat_of(scope)
        asked = chat.asked_for(call_id) if chat is not None else None
        return ToolFrame(
            scope.run.tool_call(
                str(function.get("name") or ""),
                reading.parsed(function.get("arguments")),
                agent=asked.agent if asked else agent.name,
                call_id=call_id,
                parent=scope,
                index=asked.index if asked else None,
            )
        )


def _response_text(response: object) -> str | None:
    choices = getattr(response, "choices", None)
    message = getattr(choices[0], "message", None) if choices else None
    return reading.text_of(getattr(message, "content", None))
