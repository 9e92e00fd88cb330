"""AutoGen 0.4 and later: autogen-core and agentchat trace themselves.

Agents' turns and tool calls, by name; no message, no argument, no result. The runtime's own spans,
one per delivery, hold messages, but each delivery is a trace of its own, told to every agent in
turn: nothing says which of them make a run. Our hook of agentchat sees all of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mastwatch.spans.dialects import _values as value
from mastwatch.spans.dialects._native import Native
from mastwatch.spans.foreign.span import ForeignSpan
from mastwatch.spans.foreign.step import Op, Step

_FRAMEWORK = "autogen"


class AutogenCore(Native):
    """AutoGen's own spans."""

    name = "autogen_core"
    of = "agentchat"
    priority = 55  # OpenInference tells the same and more
    scopes = ("autogen-core",)

    def claims(self, scope: str, version: str, attributes: Mapping[str, Any]) -> bool:
        """Agents and tools have one scope, every kind of runtime has another: no steps there."""
        return scope in self.scopes or scope.startswith("autogen ")

    def step(self, span: ForeignSpan, op: Op) -> Step | None:
        """Read a step; what stands after the slash in an agent's id is its team's."""
        step = super().step(span, op)
        if step is None:
            return None
        id = value.text(span.attributes, "gen_ai.agent.id") or ""
        return replace(
            step,
            conversation_id=id.rpartition("/")[2] or None if "/" in id else None,
            provider=None if step.provider == _FRAMEWORK else step.provider,
        )


DIALECT = AutogenCore()
