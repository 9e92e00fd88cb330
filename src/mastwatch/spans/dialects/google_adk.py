"""Google ADK, traced by itself.

Its older form (``ADK_TELEMETRY_SCHEMA_VERSION_OPT_IN=1``) tells every model call twice:
``call_llm`` with the text, which ends after the tools it asked for, and ``generate_content``
without. The latter is read: where things stand matters more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from mastwatch.spans.dialects import _values as value
from mastwatch.spans.dialects._native import Native, with_attributes
from mastwatch.spans.dialects.genai import OPS
from mastwatch.spans.foreign.span import ForeignSpan
from mastwatch.spans.foreign.step import Op, Step

_NOT_SPECIFIED = "<not specified>"


class GoogleAdk(Native):
    """Google ADK: name and session on every span; content of the current form is a switch."""

    name = "google_adk"
    scopes = ("gcp.vertex.agent",)
    operations: ClassVar[Mapping[str, Op]] = {**OPS, "invocation": "workflow"}

    def step(self, span: ForeignSpan, op: Op) -> Step | None:
        """Read a step."""
        said = span.attributes
        if op != "tool":
            return super().step(span, op)
        if said.get("gen_ai.tool.name") == "(merged tools)":
            return None  # several calls' results, each told by a span of its own
        old = {
            "gen_ai.tool.call.arguments": _content(said, "gcp.vertex.agent.tool_call_args"),
            "gen_ai.tool.call.result": _content(said, "gcp.vertex.agent.tool_response"),
        }
        step = super().step(
            with_attributes(span, {key: found for key, found in old.items() if found}), op
        )
        if step is None:
            return None
        return replace(
            step,
            result=_unwrapped(step.result),
            call_id=None if step.call_id == _NOT_SPECIFIED else step.call_id,
        )


def _content(said: Mapping[str, object], key: str) -> object:
    found = said.get(key)
    return None if found in ("{}", "N/A") else found  # what stands there with content off


def _unwrapped(result: str | None) -> str | None:
    """A function's plain value comes as ``{"result": value}``."""
    found = value.mapping(result)
    if set(found) != {"result"}:
        return result
    plain = found["result"]
    return None if plain == _NOT_SPECIFIED else value.as_text(plain)


DIALECT = GoogleAdk()
