"""The Model Context Protocol's Python SDK, traced by itself.

The server's span of a tool call is a step; the client's around it (``MCP send ...``) names no tool
and is none. Neither carries arguments, result or the model's id of the call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from mastwatch.spans.dialects._native import Native
from mastwatch.spans.dialects.genai import op_of
from mastwatch.spans.foreign.step import Op


class Mcp(Native):
    """MCP: tool calls, nothing else."""

    name = "mcp"
    priority = 80  # below the framework whose tool it is
    scopes = ("mcp-python-sdk",)

    def opening(self, name: str, attributes: Mapping[str, Any]) -> Op | Literal["other"] | None:
        """Told by the operation, which is there from the start."""
        return "tool" if op_of(attributes) == "tool" else "other"


DIALECT = Mcp()
