"""OpenLLMetry, as Traceloop's instrumentations write it, today and in earlier generations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from mastwatch.spans.dialects import _langchain as langchain
from mastwatch.spans.dialects import _messages as chat
from mastwatch.spans.dialects import _values as value
from mastwatch.spans.dialects.genai import OPS, answers, read_step
from mastwatch.spans.foreign.span import ForeignSpan
from mastwatch.spans.foreign.step import Answer, Op, Step

_PREFIX = "opentelemetry.instrumentation."
_LIBRARIES = frozenset(
    {"agno", "alephalpha", "anthropic", "bedrock", "cohere", "crewai", "google_generativeai"}
    | {"groq", "haystack", "langchain", "llamaindex", "mcp", "mistralai", "ollama", "openai"}
    | {"openai_agents", "replicate", "sagemaker", "together", "transformers", "vertexai"}
    | {"watsonx", "writer"}
)
_NAMES = {"llamaindex": "llama_index"}
_KINDS: dict[str, Op] = {"workflow": "workflow", "agent": "agent", "tool": "tool"}
_ASSOCIATED = "traceloop.association.properties."
_FRAMEWORKS = frozenset({"langchain", "langgraph", "crewai", "llamaindex", "haystack"})
"""What its key for the provider holds where a framework made the span."""


class OpenLLMetry:
    """Spans with ``traceloop.*`` keys, or of a scope that writes the legacy ``gen_ai.prompt.N``."""

    name = "openllmetry"
    priority = 60

    def claims(self, scope: str, version: str, attributes: Mapping[str, Any]) -> bool:
        """Whether a span is of an OpenLLMetry instrumentation, or written as one."""
        if _library(scope) in _LIBRARIES:
            return True
        return any(key.startswith(("traceloop.", "gen_ai.prompt.0.")) for key in attributes)

    def library(self, scope: str) -> str:
        """The library, by the name its instrumentor has with us."""
        name = _library(scope) or scope
        return _NAMES.get(name, name)

    def opening(self, name: str, attributes: Mapping[str, Any]) -> Op | Literal["other"] | None:
        """Attributes come later, but names have a form."""
        op = _op(attributes) if attributes else None
        if op is not None:
            return op
        head, _, tail = name.partition(" ")
        if head in OPS and tail:
            # An agent's span holds no text; what it says stands on its chat spans.
            return "workflow" if OPS[head] == "agent" else OPS[head]
        if head == "execute_task":
            return None  # a node of a graph: an agent at work, or only a part of one
        if head == "create_agent":
            return "other"
        kind = name.rsplit(".", 1)[-1]
        return {"chat": "chat", "completion": "chat"}.get(kind) or _KINDS.get(kind)  # type: ignore[return-value]

    def read(self, span: ForeignSpan) -> Step | None:
        """Read a finished span."""
        op = _op(span.attributes) or self.opening(span.name, {})
        if op is None or op == "other":
            return None
        step = read_step(span, op)
        said = span.attributes
        step = replace(
            step,
            agent=_agent(said, step),
            conversation_id=step.conversation_id or value.text(said, f"{_ASSOCIATED}thread_id"),
            error=_failure(said, step),
        )
        if op == "tool":
            return _tool(said, step)
        return _chat(said, step) if op == "chat" else _around(said, step)


def _library(scope: str) -> str:
    """The library in a scope, empty for scopes of others; ``genai.langchain`` is not ours."""
    return scope.removeprefix(_PREFIX).split(".", 1)[0] if scope.startswith(_PREFIX) else ""


def _op(said: Mapping[str, Any]) -> Op | Literal["other"] | None:
    operation = value.text(said, "gen_ai.operation.name")
    kind = value.text(said, "traceloop.span.kind")
    if operation is not None:
        op = OPS.get(operation)
        if op == "agent":  # each agent has two: a bare one, and its workflow's inside
            return "workflow"
        return op or "other"
    if kind is not None:
        return _KINDS.get(kind, "other")
    if "llm.request.type" in said:
        return "chat" if said["llm.request.type"] in ("chat", "completion") else "other"
    return None


def _agent(said: Mapping[str, Any], step: Step) -> str | None:
    if step.agent:
        return step.agent
    handed = {
        key[len(_ASSOCIATED) :]: item for key, item in said.items() if key.startswith(_ASSOCIATED)
    }
    name = langchain.agent_of(handed)
    if name is None and value.text(said, "traceloop.span.kind") == "agent":
        name = value.text(said, "traceloop.entity.name")
    return name


def _failure(said: Mapping[str, Any], step: Step) -> str | None:
    failed = said.get("gen_ai.task.status") == "failure" and step.outcome is None
    return step.error or ("_OTHER" if failed else None)


def _tool(said: Mapping[str, Any], step: Step) -> Step:
    output = langchain.tool_output(
        value.first(said, "gen_ai.tool.call.result", "traceloop.entity.output")
    )
    given = value.first(said, "gen_ai.tool.call.arguments", "traceloop.entity.input")
    return replace(
        step,
        name=step.name or value.text(said, "traceloop.entity.name"),
        arguments=_arguments(given),
        result=output.text,
        call_id=step.call_id or output.call_id,
        error=step.error or ("ToolException" if output.failed else None),
    )


def _arguments(given: Any) -> object:
    """Arguments without the wrapping: its ``metadata`` differs in each step of a graph."""
    found = value.parsed(given)
    if isinstance(found, Mapping):
        if isinstance(found.get("inputs"), (Mapping, list)):
            return found["inputs"]
        if isinstance(found.get("input_str"), str):
            return value.literal(found["input_str"])
    return value.arguments(given)


def _chat(said: Mapping[str, Any], step: Step) -> Step:
    provider = value.text(said, "gen_ai.provider.name", "gen_ai.system")
    if provider is not None and provider.lower() in _FRAMEWORKS:
        provider = None
    request, answer = step.request, step.answer
    if request is None and (sent := chat.flattened(said, "gen_ai.prompt")):
        request = chat.request(chat.messages([_legacy(item) for item in sent]))
    if answer is None and (got := chat.flattened(said, "gen_ai.completion")):
        answer = chat.answer(chat.messages([_legacy(item, "assistant") for item in got]))
    return replace(step, provider=provider, request=request, answer=answer)


def _legacy(item: Any, role: str = "user") -> Mapping[str, Any]:
    """A message of ``gen_ai.prompt.N.*``: flattened, its calls numbered, its content maybe JSON."""
    if not isinstance(item, Mapping):
        return {}
    calls = [call for call in chat.items(item.get("tool_calls")) if isinstance(call, Mapping)]
    content = item.get("content", "" if calls else None)
    blocks = value.parsed(content) if isinstance(content, str) and content[:2] == "[{" else None
    shaped = {
        "role": item.get("role") or role,
        "tool_calls": calls,
        "tool_call_id": item.get("tool_call_id"),
    }
    if content is not None:
        shaped["content"] = blocks if isinstance(blocks, list) else content
    return shaped


def _around(said: Mapping[str, Any], step: Step) -> Step:
    name = value.text(said, "traceloop.entity.name", "traceloop.workflow.name") or step.agent
    inputs = value.mapping(said.get("traceloop.entity.input")).get("inputs")
    task = step.task or chat.last_of_person(chat.messages(inputs))
    answer: Answer | None = step.answer or chat.answer(answers(said))
    return replace(step, name=step.name or name, task=task, answer=answer)


DIALECT = OpenLLMetry()
