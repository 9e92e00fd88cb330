"""AG2 classic (``import autogen``), traced by its own ``autogen.opentelemetry``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from mastwatch.spans.dialects import _messages as chat
from mastwatch.spans.dialects import _values as value
from mastwatch.spans.dialects._native import SILENT
from mastwatch.spans.dialects.genai import answers, read_step
from mastwatch.spans.foreign.span import ForeignSpan
from mastwatch.spans.foreign.step import Answer, Op, Step

SCOPE = "opentelemetry.instrumentation.ag2"
TYPE = "ag2.span.type"
HELPERS = ("checking_agent", "speaker_selection_agent")
"""Who choose a group chat's next speaker with a model: no speakers themselves."""
_TYPES: dict[str, Op] = {
    "conversation": "workflow",
    "multi_conversation": "workflow",
    "agent": "agent",
    "llm": "chat",
    "tool": "tool",
    "human_input": "human",
}
_NAMES: dict[str, Op] = {
    "conversation": "workflow",
    "agent.initiate_chats": "workflow",
    "initiate_chats": "workflow",
    "invoke_agent": "agent",
    "chat": "chat",
    "execute_tool": "tool",
    "await_human_input": "human",
}


class Ag2Classic:
    """AG2 classic: agents' content is always on its spans, that of model calls is a switch."""

    name = "ag2_classic"
    priority = 10

    def claims(self, scope: str, version: str, attributes: Mapping[str, Any]) -> bool:
        """AG2 1.x has the same scope, but gives it no version."""
        return scope == SCOPE and version != ""

    def library(self, scope: str) -> str:
        """The library, by the name its instrumentor has with us."""
        return "autogen"

    def opening(self, name: str, attributes: Mapping[str, Any]) -> Op | Literal["other"] | None:
        """Spans begin without attributes: their names tell."""
        first, _, agent = name.partition(" ")
        return "other" if agent in HELPERS else _NAMES.get(first, "other")

    def read(self, span: ForeignSpan) -> Step | None:
        """Read a finished span."""
        said = span.attributes
        op = _TYPES.get(str(said.get(TYPE)))
        if op is None or said.get("gen_ai.agent.name") in HELPERS:
            return None
        if op == "workflow":
            return _conversation(span)
        if op == "agent":
            return _turn(span)
        if op == "human":
            return human(span)
        return read_step(span, op)


def human(span: ForeignSpan) -> Step:
    """A person was asked; both generations write it the same way."""
    reply = value.text(span.attributes, "ag2.human_input.response")
    step = read_step(span, "human")
    return replace(step, task=None, answer=None if reply is None else Answer(text=reply))


def _conversation(span: ForeignSpan) -> Step | None:
    """A chat; its opening message is said by the agent whose span it is.

    The manager's own span inside a group chat is the same chat once more: it alone has no id.
    """
    said = span.attributes
    a_chat = said.get(TYPE) == "conversation"
    over = span.ended > 0 and not span.failed  # while it is open it has no id either
    if a_chat and over and "gen_ai.conversation.id" not in said:
        return None if "gen_ai.conversation.resumed" not in said else read_step(span, "workflow")
    step = read_step(span, "workflow")
    sent = chat.messages(said.get("gen_ai.input.messages"))
    return replace(
        step,
        agent=step.agent if a_chat else None,  # a series of chats is opened by none
        task=next((message.text for message in sent or ()), None),
        answer=None,  # the whole history, once more
    )


def _turn(span: ForeignSpan) -> Step:
    """An agent's reply. One that only hands on a tool's result, or none, says nothing."""
    step = read_step(span, "agent")
    got = answers(span.attributes)
    spoke = bool(got) and got[-1].role == "assistant"  # type: ignore[index]
    return replace(step, task=None, answer=step.answer if spoke else SILENT)


DIALECT = Ag2Classic()
