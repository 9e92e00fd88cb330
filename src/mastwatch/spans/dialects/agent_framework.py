"""Microsoft's agent-framework, traced by itself.

Of a workflow's own spans only ``workflow.run`` is a step; executors, edges and messages between
them say which types went where, not what was said.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from mastwatch.spans.dialects import _values as value
from mastwatch.spans.dialects._native import Native
from mastwatch.spans.foreign.span import ForeignSpan
from mastwatch.spans.foreign.step import Op, Step


class AgentFramework(Native):
    """agent-framework: content is a switch (``ENABLE_SENSITIVE_DATA``)."""

    name = "agent_framework"
    scopes = ("agent_framework",)

    def opening(self, name: str, attributes: Mapping[str, Any]) -> Op | Literal["other"] | None:
        """Told by the span's name."""
        return "workflow" if name == "workflow.run" else super().opening(name, attributes)

    def step(self, span: ForeignSpan, op: Op) -> Step | None:
        """Read a step."""
        step = super().step(span, op)
        if step is None or op != "workflow":
            return step
        return replace(step, name=value.text(span.attributes, "workflow.name"))


DIALECT = AgentFramework()
