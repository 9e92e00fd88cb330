"""CrewAI's parts, found by name: what a version lacks is None."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any


def find(module: str, name: str) -> Any:
    """Return ``crewai.<module>.<name>``, or None where this CrewAI has no such thing."""
    try:
        return getattr(importlib.import_module(f"crewai.{module}"), name, None)
    except ImportError:
        return None


def executors() -> list[type]:
    """The classes in which an agent works at a task: the present one and that of CrewAI < 1.15."""
    places = (
        ("agents.agent_executor", "AgentExecutor"),
        ("experimental.agent_executor", "AgentExecutor"),
        ("agents.crew_agent_executor", "CrewAgentExecutor"),
    )
    found = [find(*place) for place in places]
    return list(dict.fromkeys(kind for kind in found if isinstance(kind, type)))


def model_classes() -> Iterator[type]:
    """Every class of models there is by now, the app's own included."""
    waiting = [find("llms.base_llm", "BaseLLM"), find("llm", "LLM")]
    seen: set[type] = set()
    while waiting:
        kind = waiting.pop()
        if isinstance(kind, type) and kind not in seen:
            seen.add(kind)
            waiting.extend(kind.__subclasses__())
            yield kind


def is_internal(flow: object) -> bool:
    """Whether a flow is a part of CrewAI that happens to be built as one (executor, memory)."""
    return type(flow).__module__.startswith(
        ("crewai.agents.", "crewai.memory.", "crewai.experimental.agent_executor")
    )
