"""A bridge on a provider, spans as others write them, and what is told of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import Span, Tracer

from mastwatch.spans.bridge import Bridge, span_processor
from mastwatch.testing.recording import Recording

OI_LANGCHAIN = "openinference.instrumentation.langchain"
OI_OPENAI = "openinference.instrumentation.openai"
GENAI_LANGCHAIN = "opentelemetry.instrumentation.genai.langchain"
GENAI_AGENTS = "opentelemetry.instrumentation.genai.openai_agents"
GENAI_OPENAI = "opentelemetry.instrumentation.genai.openai"


class Bench:
    """A bridge on a provider, and what it told."""

    def __init__(self) -> None:
        self.recording = Recording()
        self.bridge = Bridge(self.recording.emitter)
        self.bridge.start()
        self.provider = TracerProvider()
        self.provider.add_span_processor(span_processor())

    def tracer(self, scope: str) -> Tracer:
        return self.provider.get_tracer(scope, "1.0")

    @contextmanager
    def genai(
        self, operation: str, name: str = "", scope: str = GENAI_AGENTS, **late: Any
    ) -> Iterator[Span]:
        """A span as util-genai writes it: the name early, the rest late."""
        key = {"invoke_agent": "agent", "execute_tool": "tool", "invoke_workflow": "workflow"}
        early = {"gen_ai.operation.name": operation}
        if operation in key and name:
            early[f"gen_ai.{key[operation]}.name"] = name
        with self.tracer(scope).start_as_current_span(
            f"{operation} {name}", attributes=early
        ) as span:
            yield span
            span.set_attributes(late)

    def chat(self, text: str | None, *tools: str, scope: str = GENAI_AGENTS, **more: Any) -> None:
        with self.genai("chat", "m", scope, **output(text, *tools), **more):
            pass

    def tool(self, name: str, result: str = "fine", call_id: str = "", **more: Any) -> None:
        said = {"gen_ai.tool.call.result": result, "gen_ai.tool.call.arguments": "{}", **more}
        if call_id:
            said["gen_ai.tool.call.id"] = call_id
        with self.genai("execute_tool", name, **said):
            pass

    @property
    def kinds(self) -> list[str]:
        return [type(event).__name__ for event in self.recording.events]


def output(text: str | None, *tools: str) -> dict[str, Any]:
    if text is None:
        return {}
    parts: list[dict[str, Any]] = [{"type": "text", "content": text}] if text else []
    parts += [{"type": "tool_call", "id": f"id-{t}", "name": t, "arguments": {}} for t in tools]
    return {"gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": parts}])}


def oi_chat(text: str, **more: Any) -> dict[str, Any]:
    return {
        "openinference.span.kind": "LLM",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": text,
        **more,
    }
