"""The frames of model calls, tool calls and questions to a person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from ag2.events import (
    BaseEvent,
    ClientToolCallEvent,
    HumanMessage,
    ModelResponse,
    ToolCallEvent,
    ToolErrorEvent,
    ToolResultEvent,
    ToolResultsEvent,
)

from mastwatch.spans.emit import ModelCall, Run, ToolCall, error_type
from mastwatch_instrumentations.ag2 import reading

if TYPE_CHECKING:
    from mastwatch_instrumentations.ag2.turns import Turn


class ModelFrame:
    """A model call. What asks for tools is said by it, the rest by the turn."""

    def __init__(self, turn: Turn, call: ModelCall) -> None:
        self._turn = turn
        self._call = call

    def attached(self) -> AbstractContextManager[None]:
        """Make it the current scope."""
        return self._call.attached()

    def done(self, response: ModelResponse) -> None:
        """Record the answer."""
        call, turn = self._call, self._turn
        try:
            spent, made = reading.tokens(response)
            if response.model or response.provider:
                provider = reading.provider_name(response.provider)
                call.enrich(model=response.model or "", provider=provider)
            call.answered(response.content or "", input_tokens=spent, output_tokens=made)
            turn.response = response
            if response.tool_calls:
                self._asks_for_tools(response)
        finally:
            call.end()

    def _asks_for_tools(self, response: ModelResponse) -> None:
        turn, requests = self._turn, reading.tool_requests(response)
        index = turn.run.message(
            turn.name, response.content or "", tool_calls=requests, carriers=(self._call,)
        )
        turn.asked = {request.call_id: index for request in requests if request.call_id}
        turn.seen.clear()

    def failed(self, error: BaseException) -> None:
        """Record the failure."""
        try:
            self._call.answered(error=error)
        finally:
            self._call.end(error)


class ToolFrame:
    """A tool call. AG2 returns what the tool raised as an event."""

    def __init__(self, call: ToolCall) -> None:
        self._call = call

    def attached(self) -> AbstractContextManager[None]:
        """Make it the current scope."""
        return self._call.attached()

    def done(self, result: ToolResultEvent | ClientToolCallEvent) -> None:
        """Record the result; that of a tool of the host's client is known to the client only."""
        try:
            if isinstance(result, ClientToolCallEvent):
                self._call.returned()
            else:
                _returned(self._call, result)
        finally:
            self._call.end()

    def failed(self, error: BaseException) -> None:
        """Record what even AG2 does not catch."""
        try:
            self._call.returned(error=error)
        finally:
            self._call.end(error)


def open_tool(turn: Turn, event: ToolCallEvent) -> ToolCall:
    """Begin the tool call that a turn's model asked for."""
    turn.seen.add(event.id)
    return turn.run.tool_call(
        event.name,
        reading.arguments(event),
        agent=turn.name,
        call_id=event.id,
        parent=turn.scope,
        index=turn.asked.get(event.id),
    )


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

    def done(self, reply: HumanMessage) -> None:
        """Tell of the answer."""
        self._run.human_replied(self._agent, reply.content)

    def failed(self, error: BaseException) -> None:
        """Nothing to add: the tool or the turn tells of it."""


def tell_unseen(turn: Turn, events: Sequence[BaseEvent]) -> None:
    """Tell the tool calls of the last message that no tool ran for.

    The tool does not exist, or a middleware answered in its place.
    """
    last: Any = events[-1] if events else None
    for result in last.results if isinstance(last, ToolResultsEvent) else ():
        index = turn.asked.get(result.parent_id)
        if index is None or result.parent_id in turn.seen or turn.response is None:
            continue
        asked = next(c for c in turn.response.tool_calls.calls if c.id == result.parent_id)
        _returned(open_tool(turn, asked), result)


def _returned(call: ToolCall, result: ToolResultEvent) -> None:
    error = error_type(result.error) if isinstance(result, ToolErrorEvent) else None
    call.returned(reading.parts_text(result.result.parts), error=error)
