"""The tool calls of agents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary, WeakSet

from mastwatch.guard import guard
from mastwatch.spans import native
from mastwatch.spans.emit import Scope, ToolCall, error_type
from mastwatch_instrumentations._patch import argument
from mastwatch_instrumentations.agentchat import reading
from mastwatch_instrumentations.agentchat.tracker import Tracker
from mastwatch_instrumentations.agentchat.turns import Turn

Raised: TypeAlias = "WeakKeyDictionary[ToolCall, str]"


class ToolFrame:
    """A tool call under way.

    Args:
        call: What it opened.
        turn: The agent's, if it is in one.
    """

    def __init__(self, call: ToolCall, turn: Turn | None) -> None:
        self._call = call
        self._turn = turn
        self._steps = call.steps()
        self._result: Any = None
        if turn is not None:
            turn.running.add(call)

    def attached(self) -> AbstractContextManager[None]:
        """Make it the current scope for a step."""
        return self._steps.step()

    def item(self, item: Any) -> None:
        """Keep the last item: that is the result."""
        self._result = item

    def done(self, result: Any) -> None:
        """Record the result."""
        self._over(_as_text(result if result is not None else self._result), None)

    def failed(self, error: BaseException) -> None:
        """Record what was raised."""
        self._over(None, error)

    def _over(self, text: str | None, error: BaseException | str | None) -> None:
        if self._turn is not None:
            self._turn.running.discard(self._call)
        self._call.returned(text, error=error)


class AgentToolFrame(ToolFrame):
    """A tool call of an AssistantAgent, which catches what the tool raises.

    Args:
        call: What it opened.
        turn: The agent's, if it is in one.
        raised: Type of what a tool raised, by call.
    """

    def __init__(self, call: ToolCall, turn: Turn | None, raised: Raised) -> None:
        super().__init__(call, turn)
        self._raised = raised

    def done(self, result: Any) -> None:
        """Record ``(call, result)``."""
        _, outcome = result
        error = reading.tool_error(outcome)
        self._over(outcome.content, error and self._raised.pop(self._call, error))


class Inside:
    """The tool's own part of an agent's tool call: it knows what was raised."""

    def __init__(self, call: ToolCall, raised: Raised) -> None:
        self._call = call
        self._raised = raised
        self._steps = call.steps()

    def attached(self) -> AbstractContextManager[None]:
        """Make the call the current scope: a tool may run in a task of its own."""
        return self._steps.step()

    def item(self, item: Any) -> None:
        """Leave it to the call around."""

    def done(self, result: Any) -> None:
        """Leave it to the call around."""

    def failed(self, error: BaseException) -> None:
        """Note what was raised."""
        self._raised[self._call] = error_type(error)


class Tools:
    """Opens the frames of tool calls.

    AutoGen opens an ``execute_tool`` span of its own for each tool that really runs. Where that is
    recorded it stands for ours, and is written on; a call that never gets there (no such tool,
    arguments that are no JSON, a workbench of another kind) gets ours.

    Args:
        tracker: Knows the turns.
    """

    def __init__(self, tracker: Tracker) -> None:
        self._tracker = tracker
        self._raised: Raised = WeakKeyDictionary()
        self._entered: WeakSet[ToolCall] = WeakSet()

    def asked(self, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ToolFrame | None:
        """Open a call of an AssistantAgent: ``_execute_tool_call(tool_call=..., ...)``."""
        scope, call = self._tracker.emitter.current(), kwargs.get("tool_call")
        if scope is None or call is None or self._tracker.emitter.suppressed():
            return None
        turn = self._tracker.turn_of(scope)
        request = reading.tool_request(call)
        agent = turn.name if turn is not None else str(kwargs.get("agent_name") or scope.agent)
        opened = self._open(scope, turn, agent, request.name, request.arguments, request.call_id)
        return AgentToolFrame(opened, turn, self._raised)

    def ran(self, tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Open a call that an agent of the app's own makes: ``tool.run_json(args, ...)``."""
        scope = self._tracker.emitter.current()
        if scope is None or self._tracker.emitter.suppressed():
            return None
        if isinstance(scope, ToolCall) and scope not in self._entered and scope.name == tool.name:
            self._entered.add(scope)
            return Inside(scope, self._raised)
        turn = self._tracker.turn_of(scope)
        call_id = argument(args, kwargs, 2, "call_id")
        arguments = dict(argument(args, kwargs, 0, "args") or {})
        call = self._open(scope, turn, scope.agent, tool.name, arguments, call_id)
        self._entered.add(call)
        return ToolFrame(call, turn)

    def _open(
        self,
        scope: Scope,
        turn: Turn | None,
        agent: str,
        name: str,
        arguments: object,
        call_id: str | None,
    ) -> ToolCall:
        return scope.run.tool_call(
            name,
            arguments,
            agent=agent,
            call_id=call_id,
            parent=scope,
            index=turn.runs(call_id) if turn is not None and call_id else None,
            own_span=not native.are_recorded(),
        )

    @contextmanager
    def traced(self, block: AbstractContextManager[Any]) -> Iterator[Any]:
        """AutoGen's own ``trace_tool_span`` block: its span stands for ours."""
        with block as span:
            with guard("agentchat.tool"):
                call = self._tracker.emitter.current()
                if isinstance(call, ToolCall) and call.span is None and call.run.spans:
                    call.borrow(span)
            yield span


def _as_text(value: object) -> str:
    if isinstance(value, str):
        return value
    dump = getattr(value, "model_dump_json", None)
    if callable(dump):
        return str(dump())
    return json.dumps(value, default=str, ensure_ascii=False)
