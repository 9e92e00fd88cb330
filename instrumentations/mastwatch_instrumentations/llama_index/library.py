"""LlamaIndex's parts, found by name: what a version lacks is None."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any


def find(module: str, name: str) -> Any:
    """Return ``<module>.<name>``, or None where this LlamaIndex has no such thing."""
    try:
        return getattr(importlib.import_module(module), name, None)
    except ImportError:
        return None


def workflow() -> Any:
    """The class that runs every workflow."""
    return find("llama_index.core.workflow", "Workflow")


def agent() -> Any:
    """The base class of agents."""
    return find("llama_index.core.agent.workflow", "BaseWorkflowAgent")


def model() -> Any:
    """The base class of models."""
    return find("llama_index.core.base.llms.base", "BaseLLM")


def family(kind: Any) -> Iterator[type]:
    """A class and all that are derived from it by now, the app's own included."""
    waiting, seen = [kind], set()
    while waiting:
        one = waiting.pop()
        if isinstance(one, type) and one not in seen:
            seen.add(one)
            waiting.extend(one.__subclasses__())
            yield one


def is_wait(error: BaseException) -> bool:
    """Whether an exception is the way in which a step says that it waits for an event."""
    kind = find("workflows.runtime.types.results", "WaitingForEvent")
    return isinstance(kind, type) and isinstance(error, kind)
