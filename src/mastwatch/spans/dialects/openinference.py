"""OpenInference, as Arize's instrumentations write it.

Its spans carry nothing while they are open: everything is written as they end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from mastwatch.spans.dialects import _langchain as langchain
from mastwatch.spans.dialects import _messages as chat
from mastwatch.spans.dialects import _values as value
from mastwatch.spans.dialects._endings import Ending, ending
from mastwatch.spans.dialects.genai import op_of, read_step
from mastwatch.spans.foreign.span import ForeignSpan
from mastwatch.spans.foreign.step import Answer, Op, Step, filled

KIND = "openinference.span.kind"
_OPS: dict[str, Op] = {"LLM": "chat", "TOOL": "tool", "AGENT": "agent"}
SILENT = Answer(text="")
_PREFIX = "openinference.instrumentation."
_LIBRARIES = {"ag2": "autogen", "autogen_agentchat": "agentchat"}
_PROVIDERS = {
    "azure": "azure.ai.inference",
    "aws": "aws.bedrock",
    "google": "gcp.gen_ai",
    "xai": "x_ai",
    "mistralai": "mistral_ai",
}
_SYSTEMS = {("azure", "openai"): "azure.ai.openai", ("google", "vertexai"): "gcp.vertex_ai"}


class OpenInference:
    """Spans with an ``openinference.span.kind``."""

    name = "openinference"
    priority = 50

    def claims(self, scope: str, version: str, attributes: Mapping[str, Any]) -> bool:
        """Whether a span is of an OpenInference instrumentation, or written as one."""
        return scope.startswith(_PREFIX) or KIND in attributes

    def library(self, scope: str) -> str:
        """The library, by the name its instrumentor has with us."""
        name = scope.removeprefix(_PREFIX).split(".", 1)[0]
        return _LIBRARIES.get(name, name)

    def opening(self, name: str, attributes: Mapping[str, Any]) -> Op | Literal["other"] | None:
        """Only what dual-writes the GenAI conventions, or its kind, tells something early."""
        early = op_of(attributes)
        if early is not None:
            return early
        kind = value.text(attributes, KIND)
        if kind is None or kind == "CHAIN":
            return None
        return _OPS.get(kind, "other")

    def read(self, span: ForeignSpan) -> Step | None:
        """Read a finished span; ``gen_ai.*`` keys beside its own come first."""
        op = _op(span)
        if op is None:
            return None
        own = _READERS[op](span, ending(span))
        if op_of(span.attributes) != op:
            return own
        return filled(read_step(span, op), own)


def _op(span: ForeignSpan) -> Op | None:
    operation = op_of(span.attributes)
    if operation is not None:
        return None if operation == "other" else operation
    kind = value.text(span.attributes, KIND)
    if kind is None and any(key.startswith("llm.") for key in span.attributes):
        return "chat"  # of too many attributes the SDK drops the oldest, the kind among them
    if kind != "CHAIN":
        return _OPS.get(kind or "")
    # A chain is a graph, a node or a pipe: it says nothing itself, but may know who is at work.
    return "agent" if value.text(_metadata(span), "lc_agent_name") == span.name else "workflow"


def _metadata(span: ForeignSpan) -> Mapping[str, Any]:
    return value.mapping(span.attributes.get("metadata"))


def _chat(span: ForeignSpan, failure: Ending) -> Step:
    said = span.attributes
    sent, got = _messages(said, "llm.input_messages"), _messages(said, "llm.output_messages")
    if sent is None and (prompts := _prompts(said)):
        sent = prompts
    return _step(
        "chat",
        span,
        failure,
        model=value.text(
            said, "llm.response.model_name", "llm.model_name", "llm.request.model_name"
        ),
        provider=_provider(said),
        request=chat.request(sent),
        answer=chat.answer(got) or _completion(said),
        input_tokens=value.count(said, "llm.token_count.prompt"),
        output_tokens=value.count(said, "llm.token_count.completion"),
    )


def _tool(span: ForeignSpan, failure: Ending) -> Step:
    said = span.attributes
    output = langchain.tool_output(_executed(value.first(said, "output.value")))
    error = failure.error or ("ToolException" if output.failed else None)
    given = value.first(said, "tool_call.function.arguments", "input.value")
    return _step(
        "tool",
        span,
        failure._replace(error=error),
        name=value.text(said, "tool.name", "tool_call.function.name") or span.name,
        arguments=value.arguments(given),
        result=output.text,
        call_id=value.text(said, "tool.id", "tool_call.id") or output.call_id,
    )


def _agent(span: ForeignSpan, failure: Ending) -> Step:
    said = span.attributes
    if "ag2.recipient.name" in said:
        return _chat_of_ag2(span, failure)
    text = value.text(said, "output.value")
    structured = value.parsed(text) if text else None
    if isinstance(structured, Mapping) and "tool_responses" in structured:
        return _step("agent", span, failure, answer=SILENT)  # results are no utterance
    if isinstance(structured, Mapping) and "ag2.sender.name" in said:
        structured = {"role": "assistant", **structured}
    got = chat.messages(structured) if isinstance(structured, (Mapping, list)) else None
    answer = chat.answer(got) or (Answer(text=text) if text else None)
    return _step("agent", span, failure, answer=answer, task=_task(said))


def _chat_of_ag2(span: ForeignSpan, failure: Ending) -> Step:
    """A chat of AG2 classic; its opening message is said by the agent whose span it is."""
    asked = value.mapping(span.attributes.get("input.value")).get("message")
    asked = asked.get("content") if isinstance(asked, Mapping) else asked
    task = asked if isinstance(asked, str) and asked not in value.ABSENT else None
    return _step("workflow", span, failure, task=task)


def _executed(output: Any) -> Any:
    """A tool's output without what AG2 returns beside it: whether it worked, and a message."""
    found = value.parsed(output) if isinstance(output, str) and output[:1] == "[" else None
    if isinstance(found, list) and len(found) == 2 and isinstance(found[0], bool):
        message = found[1]
        if isinstance(message, Mapping) and message.get("role") in ("function", "tool"):
            return message.get("content")
    return output


def _workflow(span: ForeignSpan, failure: Ending) -> Step:
    # No task where an agent is named: it is a node, and nobody opens a conversation with it.
    step = _step("workflow", span, failure, name=span.name)
    return step if step.agent else replace(step, task=_task(span.attributes))


_READERS = {"chat": _chat, "tool": _tool, "agent": _agent, "workflow": _workflow}


def _step(op: Op, span: ForeignSpan, failure: Ending, **more: Any) -> Step:
    said, metadata = span.attributes, _metadata(span)
    agent = value.text(said, "agent.name") or langchain.agent_of(metadata)
    if agent is None and op == "agent":
        agent = span.name or None
    return Step(
        op=op,
        agent=agent or value.text(said, "graph.node.name", "graph.node.id"),
        conversation_id=value.text(said, "session.id") or value.text(metadata, "thread_id"),
        error=failure.error,
        outcome=failure.outcome,
        reason=failure.reason,
        **more,
    )


def _messages(said: Mapping[str, Any], prefix: str) -> list[chat.Message] | None:
    """Messages flattened as ``llm.input_messages.0.message.role`` and so on."""
    listed = chat.flattened(said, prefix)
    if not listed:
        return None
    return chat.messages([_openai_shape(item.get("message")) for item in listed if item])


def _openai_shape(message: Any) -> Mapping[str, Any]:
    if not isinstance(message, Mapping):
        return {}
    calls = []
    for item in chat.items(message.get("tool_calls")):
        call = item.get("tool_call") if isinstance(item, Mapping) else None
        if isinstance(call, Mapping):
            calls.append(call)
    shaped: dict[str, Any] = {
        "role": message.get("role"),
        "name": message.get("name"),
        "tool_calls": calls,
        "tool_call_id": message.get("tool_call_id"),
    }
    blocks = [
        block.get("message_content")
        for block in chat.items(message.get("contents"))
        if isinstance(block, Mapping)
    ]
    if "content" in message or blocks:
        shaped["content"] = message.get("content", blocks)
    elif calls:
        shaped["content"] = ""
    return shaped


def _prompts(said: Mapping[str, Any]) -> list[chat.Message]:
    listed = said.get("llm.prompts")
    texts = listed if isinstance(listed, (list, tuple)) else chat.flattened(said, "llm.prompts")
    texts = [_inner(item, "prompt.text") for item in texts]
    return [chat.Message("user", text) for text in texts if isinstance(text, str)]


def _completion(said: Mapping[str, Any]) -> Answer | None:
    choices = chat.flattened(said, "llm.choices")
    text = _inner(choices[-1], "completion.text") if choices else None
    return Answer(text=text) if isinstance(text, str) and text not in value.ABSENT else None


def _inner(item: Any, path: str) -> Any:
    for name in path.split("."):
        if not isinstance(item, Mapping):
            return item
        item = item.get(name)
    return item


def _provider(said: Mapping[str, Any]) -> str | None:
    provider = value.text(said, "llm.provider")
    if provider is None:
        return None
    provider = provider.lower()
    system = (value.text(said, "llm.system") or "").lower()
    return _SYSTEMS.get((provider, system)) or _PROVIDERS.get(provider, provider)


def _task(said: Mapping[str, Any]) -> str | None:
    text = value.text(said, "input.value")
    structured = value.parsed(text) if text else None
    if isinstance(structured, (Mapping, list)):
        return chat.last_of_person(chat.messages(structured))
    return text


DIALECT = OpenInference()
