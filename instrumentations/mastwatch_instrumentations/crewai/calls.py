"""The frames of model calls and tool calls."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from mastwatch.spans.emit import Emitter, ModelCall, ToolCall
from mastwatch_instrumentations._patch import Frame, argument
from mastwatch_instrumentations.crewai import reading
from mastwatch_instrumentations.crewai.place import Place, Turn, agent_here, here, wrong

_tool: ContextVar[ToolFrame | None] = ContextVar("mastwatch_crewai_tool", default=None)

REFUSED = "repeated_usage"
"""The error of a call that CrewAI answers itself because it equals the last one."""


class ModelFrame:
    """A model call.

    Args:
        call: Its span.
        turn: The turn whose agent speaks by it; None where it is asked for something else.
    """

    def __init__(self, call: ModelCall, turn: Turn | None) -> None:
        self._call = call
        self._turn = turn

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Make it the current scope."""
        with self._call.attached():
            yield

    def done(self, result: Any) -> None:
        """Record the answer; where it is the agent's it is an utterance."""
        try:
            if isinstance(result, (list, str)) or hasattr(result, "model_dump_json"):
                self._answered(reading.said(result), result)
            else:
                self._call.answered(None if result is None else str(result))
        finally:
            self._call.end()

    def _answered(self, said: reading.Said, result: Any) -> None:
        self._call.answered(result if isinstance(result, str) else said.text)
        turn = self._turn
        if turn is None or turn.run.finished:
            return
        carriers = (self._call, turn.scope) if said.tool_calls else (turn.scope, self._call)
        index = turn.run.message(
            turn.agent, said.text, tool_calls=said.tool_calls, carriers=carriers
        )
        turn.ask(said.tool_calls, index)

    def failed(self, error: BaseException) -> None:
        """Record the failure."""
        try:
            self._call.answered(error=error)
        finally:
            self._call.end(wrong(error))


class Models:
    """Opens the frames of model calls."""

    def __init__(self, emitter: Emitter) -> None:
        self._emitter = emitter

    def call(self, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Frame | None:
        """Open the frame of a model's ``call(messages, ...)``; one inside another is the same."""
        scope = self._emitter.current()
        if scope is None or self._emitter.suppressed() or self._emitter.model_call_here():
            return None
        place, messages = here.get(), argument(args, kwargs, 0, "messages")
        turn = self._speaker(place, messages, kwargs)
        if place is not None and turn is not None and kwargs.get("from_agent") is None:
            # CrewAI asks without saying for whom only where it wants the final answer at once.
            place.forced.append(_limit(turn))
        call = scope.run.model_call(
            agent=agent_here(place, kwargs.get("from_agent")) or scope.agent,
            model=str(getattr(model, "model", "") or ""),
            provider=reading.provider_of(model),
            request=reading.request_of(messages),
            parent=scope,
        )
        return ModelFrame(call, turn)

    def _speaker(
        self, place: Place | None, messages: object, kwargs: dict[str, Any]
    ) -> Turn | None:
        turn = place.turn if place is not None else None
        scope = self._emitter.current()
        if turn is None or scope is not turn.scope:
            return None  # inside a tool nobody speaks
        return turn if turn.voices(messages) else None


def _limit(turn: Turn) -> str:
    executor = turn.executor()
    most = getattr(executor, "max_iter", None) or getattr(executor, "max_iterations", None)
    return f"max_iter of {most} reached" if most else "max_iter reached"


class ToolFrame:
    """A tool call; CrewAI catches what the tool raises and gives the agent its text."""

    def __init__(self, call: ToolCall, owner: object) -> None:
        self.error: BaseException | str | None = None
        self.owner = id(owner)
        self._raw = getattr(owner, "get_last_raw_result", None)
        self._call = call

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Make it the current scope."""
        token = _tool.set(self)
        try:
            with self._call.attached():
                yield
        finally:
            _tool.reset(token)

    def done(self, result: Any) -> None:
        """Record what the agent is given."""
        if isinstance(result, dict) and "func_name" in result:
            self.error = self.error or _kind(result.get("tool_failure"))
            result = result.get("result")
        elif self._raw is not None:
            result = self._raw(result)  # without the reminders that CrewAI adds now and then
        self._call.returned(reading.result_text(result), error=self.error)

    def failed(self, error: BaseException) -> None:
        """Record what even CrewAI does not catch."""
        self._call.returned(error=error)


class Running:
    """The tool itself at work in a tool call: CrewAI keeps what it raises to itself."""

    def __init__(self, call: ToolFrame) -> None:
        self._call = call

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Change nothing."""
        yield

    def done(self, result: Any) -> None:
        """Forget what a tool inside this one raised."""
        self._call.error = None

    def failed(self, error: BaseException) -> None:
        """Note what was raised."""
        self._call.error = error


def _kind(failure: Any) -> str | None:
    """Name a failure, as CrewAI sorts them; it keeps an exception's type as its code."""
    if failure is None:
        return None
    return str(failure.code or getattr(failure.reason, "value", failure.reason))


class Tools:
    """Opens the frames of tool calls."""

    def __init__(self, emitter: Emitter) -> None:
        self._emitter = emitter

    def use(self, usage: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Frame | None:
        """Open the frame of ``ToolUsage.use(calling, tool_string)``, which calls itself again."""
        calling = argument(args, kwargs, 0, "calling")
        open_call = _tool.get()
        if not hasattr(calling, "arguments"):
            return None
        if open_call is not None and open_call.owner == id(usage):
            open_call.error = None  # what went wrong is tried again
            return None
        name = reading.tool_name(calling.tool_name)
        frame = self._begin(usage, name, calling.arguments or {})
        repeats = getattr(usage, "_check_tool_repeated_usage", None)
        if frame is not None and repeats is not None and repeats(calling=calling):
            frame.error = REFUSED
        return frame

    def native(self, executor: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Frame | None:
        """Open the frame of ``_execute_single_native_tool_call(tool_call)``."""
        tool_call = argument(args, kwargs, 0, "tool_call")
        request = reading.native_request(tool_call) if tool_call is not None else None
        if request is not None:
            return self._begin(executor, request.name, request.arguments, request.call_id)
        if kwargs.get("func_name"):  # CrewAI before 1.15 passes the parts
            name, arguments = reading.tool_name(kwargs["func_name"]), kwargs.get("func_args")
            return self._begin(executor, name, reading.parsed(arguments), kwargs.get("call_id"))
        return None

    def run(self, tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Frame | None:
        """Open the frame of a tool's own ``run``: a call, where no executor's call is around it."""
        around = _tool.get()
        if around is not None:
            return Running(around)
        if here.get() is None:
            return None
        return self._begin(tool, reading.tool_name(tool.name), dict(kwargs) or list(args))

    def _begin(
        self, owner: object, name: str, arguments: object, call_id: str | None = None
    ) -> ToolFrame | None:
        scope, place = self._emitter.current(), here.get()
        if scope is None or self._emitter.suppressed():
            return None
        index = None
        if place is not None and place.turn is not None:
            call_id, index = place.turn.asked(name, call_id)
        call = scope.run.tool_call(
            name,
            arguments,
            agent=agent_here(place),
            call_id=call_id,
            parent=scope,
            index=index,
        )
        return ToolFrame(call, owner)


def tool_failed(usage: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
    """Note what a tool raised: ``ToolUsage.on_tool_error(tool, tool_calling, e)``."""
    frame, error = _tool.get(), argument(args, kwargs, 2, "e")
    if frame is not None and frame.owner == id(usage) and isinstance(error, BaseException):
        frame.error = error
