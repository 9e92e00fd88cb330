"""AG2 1.x (``import ag2``), traced by its own ``TelemetryMiddleware``.

Left aside: ``record_usage`` spans, which repeat the tokens of model calls, and the hub's envelopes,
which carry ids in place of names and no text: what was said is on the agents' own spans.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from mastwatch.spans.dialects.ag2_classic import SCOPE, TYPE, human
from mastwatch.spans.dialects.genai import read_step
from mastwatch.spans.foreign.span import ForeignSpan
from mastwatch.spans.foreign.step import Op, Step

_TYPES: dict[str, Op] = {"agent": "agent", "llm": "chat", "tool": "tool", "human_input": "human"}
_NAMES: dict[str, Op] = {
    "invoke_agent": "agent",
    "chat": "chat",
    "execute_tool": "tool",
    "await_human_input": "human",
}


class Ag2:
    """AG2 1.x: content is on its model calls and tools, its turns carry none."""

    name = "ag2"
    priority = 10

    def claims(self, scope: str, version: str, attributes: Mapping[str, Any]) -> bool:
        """AG2 classic has the same scope, with a version."""
        return scope == SCOPE and version == ""

    def library(self, scope: str) -> str:
        """The library, by the name its instrumentor has with us."""
        return "ag2"

    def opening(self, name: str, attributes: Mapping[str, Any]) -> Op | Literal["other"] | None:
        """Spans begin without attributes: their names tell."""
        return _NAMES.get(name.partition(" ")[0], "other")

    def read(self, span: ForeignSpan) -> Step | None:
        """Read a finished span."""
        op = _TYPES.get(str(span.attributes.get(TYPE)))
        if op is None:
            return None
        if op == "human":
            return human(span)
        step = read_step(span, op)
        return replace(step, truncated="ag2.tool.call.result.truncated" in span.attributes)


DIALECT = Ag2()
