"""What is patched: the runner, the models, the function tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agents import tool
from agents.run import AgentRunner

from mastwatch.instrumentor import DidNotEnable
from mastwatch.spans.emit import Emitter, ToolCall
from mastwatch_instrumentations._patch import Patches, argument, around, around_async
from mastwatch_instrumentations.openai_agents.brake import Brake
from mastwatch_instrumentations.openai_agents.models import Models
from mastwatch_instrumentations.openai_agents.runs import Runs
from mastwatch_instrumentations.openai_agents.session import session_here


class ToolFrame:
    """The frame of a function tool's code: what it does belongs to the tool call."""

    def __init__(self, call: ToolCall) -> None:
        self._call = call
        self.attached = call.attached

    def done(self, result: Any) -> None:
        """Leave the result to the hook: an output guardrail may put another in its place."""

    def failed(self, error: BaseException) -> None:
        """Record what the SDK does not turn into a result."""
        self._call.returned(error=error)


class Hooks:
    """The hooks of one installation.

    Args:
        emitter: Where everything goes.
        patches: Takes them back.
        traced_by: Tells who else makes spans for the SDK.
    """

    def __init__(
        self, emitter: Emitter, patches: Patches, traced_by: Callable[[], tuple[str, ...]]
    ) -> None:
        brake = Brake(emitter)
        self._patches = patches
        self._models = Models(emitter, patches, brake)
        self._runs = Runs(emitter, self._models, brake, traced_by)

    def install(self) -> dict[str, bool]:
        """Patch the classes.

        Returns:
            Each hook and whether it is in place.

        Raises:
            DidNotEnable: There is no runner of the kind we know.
        """
        runs = self._runs
        run = around_async("openai_agents.run", runs.run)
        streamed = around("openai_agents.run", runs.streamed)
        status = {
            "AgentRunner.run": self._patches.wrap(AgentRunner, "run", run),
            "AgentRunner.run_streamed": self._patches.wrap(AgentRunner, "run_streamed", streamed),
        }
        if not all(status.values()):
            self._patches.undo()
            raise DidNotEnable("this version of the SDK has no AgentRunner.run or run_streamed")
        invoker = getattr(tool, "_FailureHandlingFunctionToolInvoker", None)
        invoked = around_async("openai_agents.tool", _open_tool)
        in_place = invoker is not None and self._patches.wrap(invoker, "__call__", invoked)
        return {**status, "Model.get_response": self._models.watch(), "FunctionTool": in_place}


def _open_tool(invoker: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ToolFrame | None:
    """Find the call a tool's code runs for: ``(context, input)``."""
    session = session_here()
    call_id = getattr(argument(args, kwargs, 0, "ctx"), "tool_call_id", "")
    call = session.tool(call_id) if session is not None else None
    return None if call is None else ToolFrame(call)
