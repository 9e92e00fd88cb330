"""OpenLIT: the GenAI conventions, with arguments and results in Python's notation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from mastwatch.spans.dialects import _values as value
from mastwatch.spans.dialects._langchain import GENERIC_NODES
from mastwatch.spans.dialects.genai import op_of, read_step
from mastwatch.spans.foreign.span import ForeignSpan
from mastwatch.spans.foreign.step import Op, Step

_PREFIX = "openlit.instrumentation."
_LIBRARIES = {"langgraph": "langchain", "ag2": "autogen", "llamaindex": "llama_index"}
_FRAMEWORKS = ("langchain", "langgraph")
_TOOL_MESSAGE = re.compile(r"content=('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\") ")
_RANDOM = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class OpenLit:
    """OpenLIT: model calls name no agent, and a graph's nodes pass for agents."""

    name = "openlit"
    priority = 70

    def claims(self, scope: str, version: str, attributes: Mapping[str, Any]) -> bool:
        """Whether a span is of one of its instrumentations."""
        return scope.startswith(_PREFIX)

    def library(self, scope: str) -> str:
        """The library, from the scope."""
        name = scope.removeprefix(_PREFIX).partition(".")[0]
        return _LIBRARIES.get(name, name)

    def opening(self, name: str, attributes: Mapping[str, Any]) -> Op | Literal["other"] | None:
        """Attributes come at the end: names tell, all of the conventions' form."""
        first, _, rest = name.partition(" ")
        if first == "invoke_agent" and rest in GENERIC_NODES:
            return "other"
        return op_of({"gen_ai.operation.name": first})

    def read(self, span: ForeignSpan) -> Step | None:
        """Read a finished span."""
        said = span.attributes
        op = op_of(said)
        if op is None or op == "other":
            return None
        if op == "agent" and value.text(said, "gen_ai.agent.name") in GENERIC_NODES:
            return None  # a node of a prebuilt graph: what it does, not who does it
        step = read_step(span, op)
        provider = None if step.provider in _FRAMEWORKS else step.provider
        if op == "tool":
            step = _tool(step)
        elif op == "chat":
            step = replace(step, call_id=None)  # of the tool it asks for
        return replace(step, provider=provider)


def _tool(step: Step) -> Step:
    given, call_id = step.arguments, step.call_id
    return replace(
        step,
        arguments=value.literal(given) if isinstance(given, str) else given,
        result=_content(step.result),
        # A failed call has LangChain's id of the run in place of the model's id of the call.
        call_id=None if call_id and _RANDOM.fullmatch(call_id) else call_id,
    )


def _content(result: str | None) -> str | None:
    """What a tool message says, from its ``repr``."""
    found = _TOOL_MESSAGE.match(result or "")
    return result if found is None else value.as_text(value.literal(found[1]))


DIALECT = OpenLit()
