"""The GenAI conventions of OpenTelemetry, of util-genai 1.3 and of what came before it.

Attributes are named here once more than in ``spans.semconv``: that says what we write, this what
others wrote in any generation of the conventions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from mastwatch.spans.dialects import _messages as chat
from mastwatch.spans.dialects import _values as value
from mastwatch.spans.dialects._endings import ending
from mastwatch.spans.foreign.span import ForeignSpan
from mastwatch.spans.foreign.step import Op, Step

OPERATION = "gen_ai.operation.name"
OPS: dict[str, Op] = {
    "chat": "chat",
    "text_completion": "chat",
    "generate_content": "chat",
    "invoke_agent": "agent",
    "invoke_workflow": "workflow",
    "execute_tool": "tool",
}
"""What an operation is in our words; the others (embeddings, create_agent, ...) are no steps."""
_SHARED = "opentelemetry.util.genai"
_PREFIXES = (
    "opentelemetry.instrumentation.genai.",
    "opentelemetry.instrumentation.openai_v2",
    _SHARED,
)
_WITHOUT_CHATS = ("opentelemetry.instrumentation.genai.langchain",)


class GenAi:
    """The official instrumentations, and everyone who writes just these attributes."""

    name = "genai"
    priority = 30

    def claims(self, scope: str, version: str, attributes: Mapping[str, Any]) -> bool:
        """Whether a span is of an official instrumentation, or carries an operation's name."""
        return scope.startswith(_PREFIXES) or OPERATION in attributes

    def library(self, scope: str) -> str:
        """The library, from the last part of the scope; the shared helpers' tells of none."""
        if scope.startswith(_SHARED):
            return self.name
        return "openai" if "openai_v2" in scope else scope.rsplit(".", 1)[-1]

    def lacks_chats(self, scope: str) -> bool:
        """Whether model calls are left to the instrumentation of the model's library."""
        return scope.startswith(_WITHOUT_CHATS)

    def opening(self, name: str, attributes: Mapping[str, Any]) -> Op | Literal["other"] | None:
        """Operation names are there from the start."""
        return op_of(attributes)

    def read(self, span: ForeignSpan) -> Step | None:
        """Read a finished span."""
        op = op_of(span.attributes)
        return None if op is None or op == "other" else read_step(span, op)


def op_of(attributes: Mapping[str, Any]) -> Op | Literal["other"] | None:
    """What the operation's name says; None where there is none."""
    operation = value.text(attributes, OPERATION)
    return None if operation is None else OPS.get(operation, "other")


def read_step(span: ForeignSpan, op: Op) -> Step:
    """Read the ``gen_ai.*`` attributes of a span, whoever wrote them."""
    said = span.attributes
    failure = ending(span)
    sent = chat.messages(said.get("gen_ai.input.messages"))
    got = answers(said)
    is_chat, is_tool = op == "chat", op == "tool"
    prompt = chat.instructions(said.get("gen_ai.system_instructions"))
    return Step(
        op=op,
        agent=value.text(said, "gen_ai.agent.name"),
        name=value.text(said, "gen_ai.tool.name" if is_tool else "gen_ai.workflow.name"),
        task=None if is_chat or is_tool else chat.last_of_person(sent),
        conversation_id=value.text(said, "gen_ai.conversation.id"),
        model=value.text(said, "gen_ai.response.model", "gen_ai.request.model"),
        provider=value.text(said, "gen_ai.provider.name", "gen_ai.system"),
        request=chat.request(sent, prompt) if is_chat else None,
        answer=None if is_tool else chat.answer(got),
        arguments=value.arguments(said.get("gen_ai.tool.call.arguments")) if is_tool else None,
        result=value.as_text(said.get("gen_ai.tool.call.result")) if is_tool else None,
        call_id=value.text(said, "gen_ai.tool.call.id"),
        input_tokens=value.count(said, *INPUT_TOKENS) if is_chat else None,
        output_tokens=value.count(said, *OUTPUT_TOKENS) if is_chat else None,
        error=failure.error,
        outcome=failure.outcome,
        reason=failure.reason,
    )


INPUT_TOKENS = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens")
OUTPUT_TOKENS = ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens")


def answers(attributes: Mapping[str, Any]) -> list[chat.Message] | None:
    """The output messages; one without a role is the assistant's."""
    found = value.parsed(attributes.get("gen_ai.output.messages"))
    if isinstance(found, (list, tuple)):
        found = [
            {"role": "assistant", **item} if isinstance(item, Mapping) else item for item in found
        ]
    return chat.messages(found)


DIALECT = GenAi()
