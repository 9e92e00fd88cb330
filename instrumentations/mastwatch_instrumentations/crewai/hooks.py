"""Which methods of CrewAI are wrapped, and with what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mastwatch.spans.emit import Emitter
from mastwatch_instrumentations._patch import (
    Begin,
    Hook,
    Patches,
    Record,
    after,
    around,
    around_async,
)
from mastwatch_instrumentations.crewai import library, turns
from mastwatch_instrumentations.crewai.brake import Brake
from mastwatch_instrumentations.crewai.calls import Models, Tools, tool_failed
from mastwatch_instrumentations.crewai.library import find
from mastwatch_instrumentations.crewai.runs import Kickoffs
from mastwatch_instrumentations.crewai.turns import Turns


class Hooks:
    """Puts the hooks in place.

    Args:
        emitter: Told what is seen.
        patches: Does the wrapping.
        traced_by: Who else makes spans of CrewAI at the moment.

    Attributes:
        status: Each hook, and whether this CrewAI has what it needs.
    """

    def __init__(
        self, emitter: Emitter, patches: Patches, traced_by: Callable[[], tuple[str, ...]]
    ) -> None:
        self.status: dict[str, bool] = {}
        self._patches = patches
        models, self._tools = Models(emitter), Tools(emitter)
        self._kickoffs = Kickoffs(emitter, traced_by, self._watch_models)
        self._turns = Turns(emitter, self._kickoffs)
        brake = Brake(emitter)
        self._asked = brake.unless_halted(around("crewai.model", models.call))
        self._asked_async = brake.unless_halted(around_async("crewai.model", models.call))

    def install(self) -> bool:
        """Wrap what there is.

        Returns:
            Whether the indispensable is in place: a crew's kickoff and some executor.
        """
        self._wrap_runs()
        invoked = self._wrap_turns()
        self._wrap_tools()
        self._watch_models()
        return self.status.get("Crew.kickoff", False) and invoked

    def _wrap_runs(self) -> None:
        crew, flow = find("crew", "Crew"), find("flow.flow", "Flow")
        self._put(crew, "kickoff", self._kickoffs.crew)
        self._put_async(crew, "kickoff_async", self._kickoffs.crew)
        self._put_async(crew, "akickoff", self._kickoffs.crew)
        self._put(crew, "replay", self._kickoffs.replay)
        self._put_async(flow, "kickoff_async", self._kickoffs.flow)
        self._put_async(flow, "resume_async", self._kickoffs.resumed)

    def _wrap_turns(self) -> bool:
        invoked = False
        for executor in library.executors():
            is_flow = hasattr(executor, "kickoff")
            begin = self._turns.outside_a_loop if is_flow else self._turns.invoke
            invoked |= self._put(executor, "invoke", begin)
            name = "invoke_async" if is_flow else "ainvoke"
            self._put_async(executor, name, self._turns.invoke)
            self._put(executor, "_handle_human_feedback", turns.feedback)
            self._put_async(executor, "_ahandle_human_feedback", turns.feedback)
            self._put_after(executor, "_format_feedback_message", turns.feedback_given)
            self._put(executor, "_execute_single_native_tool_call", self._tools.native)
        self._put(find("lite_agent", "LiteAgent"), "_invoke_loop", self._turns.lite)
        guardrail = find("tasks.llm_guardrail", "LLMGuardrail")
        self._put(guardrail, "_validate_output", self._turns.guardrail)
        return invoked

    def _wrap_tools(self) -> None:
        usage = find("tools.tool_usage", "ToolUsage")
        self._put(usage, "use", self._tools.use)
        self._put_async(usage, "ause", self._tools.use)
        self._put_after(usage, "on_tool_error", tool_failed)
        for name in ("BaseTool", "Tool"):
            self._put(find("tools.base_tool", name), "run", self._tools.run)

    def _watch_models(self) -> None:
        """Wrap the models' methods, those of classes that are new as well."""
        for kind in library.model_classes():
            for name, hook in (("call", self._asked), ("acall", self._asked_async)):
                if name in vars(kind):
                    wrapped = self._patches.wrap(kind, name, hook)
                    self.status[f"BaseLLM.{name}"] = wrapped

    def _put(self, owner: Any, name: str, begin: Begin) -> bool:
        return self._place(owner, name, around(_where(owner, name), begin))

    def _put_async(self, owner: Any, name: str, begin: Begin) -> bool:
        return self._place(owner, name, around_async(_where(owner, name), begin))

    def _put_after(self, owner: Any, name: str, record: Record) -> bool:
        return self._place(owner, name, after(_where(owner, name), record))

    def _place(self, owner: Any, name: str, hook: Hook) -> bool:
        if owner is None:
            return False
        done = self._patches.wrap(owner, name, hook)
        self.status[f"{owner.__name__}.{name}"] = done
        return done


def _where(owner: Any, name: str) -> str:
    return f"crewai.{getattr(owner, '__name__', 'missing')}.{name}"
