"""What is patched: agents, and the classes of their models, tools and code executors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from smolagents.agents import MultiStepAgent, ToolCallingAgent
from smolagents.local_python_executor import LocalPythonExecutor
from smolagents.tools import Tool

from mastwatch.instrumentor import DidNotEnable
from mastwatch.spans.emit import Emitter
from mastwatch_instrumentations._patch import Hook, Patches, around
from mastwatch_instrumentations._streams import around_generator
from mastwatch_instrumentations.smolagents.agents import Agents
from mastwatch_instrumentations.smolagents.brake import Brake
from mastwatch_instrumentations.smolagents.models import Models


class Hooks:
    """The hooks of one installation.

    Args:
        emitter: Where everything goes.
        patches: Takes them back.
        traced_by: Tells who else makes spans for smolagents.
    """

    def __init__(
        self, emitter: Emitter, patches: Patches, traced_by: Callable[[], tuple[str, ...]]
    ) -> None:
        brake = Brake(emitter)
        self._patches = patches
        self._models = Models(emitter, brake)
        self._agents = Agents(emitter, brake, self._watch, traced_by)
        self._in_code = around("smolagents.tool", self._agents.called_in_code)
        self._code = around("smolagents.code", self._agents.run_code)

    def install(self) -> dict[str, bool]:
        """Patch the classes.

        Returns:
            Each hook and whether it is in place.

        Raises:
            DidNotEnable: There is no run of the kind we know.
        """
        agents = self._agents
        sites: list[tuple[type, str, Hook]] = [
            (MultiStepAgent, "_run_stream", around_generator("smolagents.run", agents.run)),
            (
                MultiStepAgent,
                "_generate_planning_step",
                around_generator("smolagents.plan", agents.plan),
            ),
            (MultiStepAgent, "provide_final_answer", around("smolagents.run", agents.last_answer)),
            (MultiStepAgent, "__call__", self._in_code),
            (
                ToolCallingAgent,
                "process_tool_calls",
                around_generator("smolagents.tool", agents.asked),
            ),
            (ToolCallingAgent, "execute_tool_call", around("smolagents.tool", agents.execute)),
            (Tool, "__call__", self._in_code),
            (LocalPythonExecutor, "__call__", self._code),
        ]
        status = {
            f"{owner.__name__}.{name}": self._patches.wrap(owner, name, hook)
            for owner, name, hook in sites
        }
        if not status["MultiStepAgent._run_stream"]:
            self._patches.undo()
            raise DidNotEnable("this smolagents has no MultiStepAgent._run_stream")
        return status

    def _watch(self, agent: Any) -> None:
        """Wrap what an agent works with, as far as the app has classes of its own for it."""
        self._wrap(type(agent.model), generate=self._models.generate)
        self._wrap(type(agent.model), generate_stream=self._models.stream)
        self._wrap(type(getattr(agent, "python_executor", None)), __call__=self._code)
        for tool in agent.tools.values():
            self._wrap(type(tool), __call__=self._in_code)

    def _wrap(self, kind: type, **hooks: Hook) -> None:
        for owner in kind.__mro__[:-1]:
            for name, hook in hooks.items():
                if name in vars(owner):
                    self._patches.wrap(owner, name, hook)
