"""Pydantic AI, traced by itself or through Logfire, in its formats 2 to 6."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from mastwatch.spans.dialects import _messages as chat
from mastwatch.spans.dialects import _values as value
from mastwatch.spans.dialects._native import Native, with_attributes
from mastwatch.spans.foreign.span import ForeignSpan
from mastwatch.spans.foreign.step import Answer, Op, Step

_OLD_NAMES: dict[str, Op] = {"agent run": "agent", "running tool": "tool"}
_WAITS = ("CallDeferred", "ApprovalRequired")
"""A tool's way to say that the answer comes from outside, later."""


class PydanticAi(Native):
    """Pydantic AI: name and conversation on every span, content unless switched off."""

    name = "pydantic_ai"
    scopes = ("pydantic-ai",)

    def opening(self, name: str, attributes: Mapping[str, Any]) -> Op | Literal["other"] | None:
        """Nearly all attributes are there from the start; formats 2 and 3 name no operation."""
        return _OLD_NAMES.get(name) or super().opening(name, attributes)

    def read(self, span: ForeignSpan) -> Step | None:
        """Read a finished span; Logfire also sends one for each that has only begun."""
        pending = span.attributes.get("logfire.span_type") == "pending_span"
        return None if pending else super().read(span)

    def step(self, span: ForeignSpan, op: Op) -> Step | None:
        """Read a step; an agent's result and history have keys of their own."""
        said = span.attributes
        if op == "tool":
            return _tool(super().step(with_attributes(span, _new_keys(said)), op))
        step = super().step(span, op)
        if step is None or op != "agent":
            return step
        history = chat.messages(said.get("pydantic_ai.all_messages", said.get("all_messages")))
        result = value.as_text(said.get("final_result"))
        task = chat.last_of_person(history)
        # A run that is cancelled, or left, is no error to OpenTelemetry; but it has no result,
        # where results are told at all.
        broken_off = result is None and task is not None and step.error is None
        return replace(
            step,
            agent=step.agent or value.text(said, "agent_name"),
            task=task,
            outcome="unknown" if broken_off else step.outcome,
            answer=None if result is None else Answer(text=result),
        )


def _new_keys(said: Mapping[str, Any]) -> dict[str, Any]:
    """What formats 2 and 3 wrote under other names."""
    old = {
        "gen_ai.tool.call.arguments": said.get("tool_arguments"),
        "gen_ai.tool.call.result": said.get("tool_response"),
    }
    return {key: found for key, found in old.items() if found is not None}


def _tool(step: Step | None) -> Step | None:
    if step is None or step.error is None or step.error.rpartition(".")[2] not in _WAITS:
        return step
    return replace(step, error=None, outcome="paused", reason=step.error.rpartition(".")[2])


DIALECT = PydanticAi()
