"""Which methods of LlamaIndex are wrapped, and with what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mastwatch.spans.emit import Emitter
from mastwatch_instrumentations._patch import Hook, Patches, after, around, around_async
from mastwatch_instrumentations.llama_index import library, people
from mastwatch_instrumentations.llama_index.brake import Brake
from mastwatch_instrumentations.llama_index.library import find
from mastwatch_instrumentations.llama_index.runs import Runs
from mastwatch_instrumentations.llama_index.steps import Steps


class Hooks:
    """Puts the hooks in place.

    Args:
        emitter: Told what is seen.
        patches: Does the wrapping.
        traced_by: Who else makes spans of LlamaIndex at the moment.

    Attributes:
        status: Each hook, and whether this LlamaIndex has what it needs.
    """

    def __init__(
        self, emitter: Emitter, patches: Patches, traced_by: Callable[[], tuple[str, ...]]
    ) -> None:
        self.status: dict[str, bool] = {}
        self._patches = patches
        self._runs = Runs(emitter, traced_by, self._watch)
        steps, brake = Steps(emitter), Brake(emitter)
        stop = around_async("llama_index.stop_early", steps.stop_early)
        tool = around_async("llama_index.tool", steps.tool)
        self._of_agents: dict[str, Hook] = {
            "take_step": brake.unless_halted(around_async("llama_index.step", steps.take)),
            "call_tool": tool,
            "_generate_early_stopping_response": stop,
        }
        self._of_workflows: dict[str, Hook] = {
            "call_tool": tool,
            "_generate_early_stopping_response": stop,
        }
        stream = around_async("llama_index.model", steps.ask_for_stream)
        asked = around_async("llama_index.model", steps.ask)
        self._of_models: dict[str, Hook] = {
            "achat": brake.nudged(asked),
            "astream_chat": brake.nudged(stream),
            "acomplete": asked,
            "chat": around("llama_index.model", steps.ask),
            "complete": around("llama_index.model", steps.ask),
        }

    def install(self) -> bool:
        """Wrap what there is.

        Returns:
            Whether the indispensable is in place: the run of a workflow and an agent's step.
        """
        self._put(library.workflow(), "run", around("llama_index.run", self._runs.run))
        several = find("llama_index.core.agent.workflow", "AgentWorkflow")
        for name, hook in self._of_workflows.items():
            self._put(several, name, hook)
        context = find("llama_index.core.workflow", "Context")
        self._put(context, "wait_for_event", around_async("llama_index.wait", people.wait))
        self._put(context, "write_event_to_stream", after("llama_index.ask", people.wrote))
        self._watch()
        return self.status.get("Workflow.run", False) and self.status.get("Agent.take_step", False)

    def _watch(self) -> None:
        """Wrap the methods of agents and models, those of classes that are new as well."""
        for base, hooks, label in (
            (library.agent(), self._of_agents, "Agent"),
            (library.model(), self._of_models, "LLM"),
        ):
            for kind in library.family(base):
                for name in hooks.keys() & vars(kind).keys():
                    done = self._patches.wrap(kind, name, hooks[name])
                    self.status[f"{label}.{name}"] = done

    def _put(self, owner: Any, name: str, hook: Hook) -> None:
        if owner is not None:
            done = self._patches.wrap(owner, name, hook)
            self.status[f"{owner.__name__}.{name}"] = done
