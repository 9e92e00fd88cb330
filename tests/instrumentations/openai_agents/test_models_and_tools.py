"""OpenAI's own models, the tools of the provider and of the SDK, and spans of others."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from agents import (
    Agent,
    FunctionTool,
    LocalShellTool,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    WebSearchTool,
)
from openai import AsyncOpenAI
from openai.types.responses import ResponseFunctionWebSearch
from openai.types.responses.response_function_web_search import ActionSearch
from openai.types.responses.response_output_item import LocalShellCall, LocalShellCallAction

from apps.openai_agents_model import Scripted, calls, says
from apps.openai_models import httpx
from mastwatch.events import MessageSent, ToolCalled
from mastwatch.spans import semconv
from mastwatch.testing.recording import Recording
from mastwatch_instrumentations.openai_agents import OpenAIAgentsInstrumentor

COMPLETION = {
    "id": "c",
    "object": "chat.completion",
    "created": 0,
    "model": "gpt-4o-mini",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "Hello from afar."},
        }
    ],
    "usage": {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16},
}
RESPONSE = {
    "id": "r",
    "object": "response",
    "created_at": 0,
    "model": "gpt-4o-mini",
    "status": "completed",
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "output": [
        {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Hello from afar.", "annotations": []}],
        }
    ],
    "usage": {
        "input_tokens": 11,
        "output_tokens": 5,
        "total_tokens": 16,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    },
}


def client() -> AsyncOpenAI:
    def answer(request: Any) -> Any:
        completions = "chat" in str(request.url)
        if not json.loads(request.content).get("stream"):
            return httpx.Response(200, json=COMPLETION if completions else RESPONSE)
        if completions:
            first = {"role": "assistant", "content": "Hello from afar."}
            chunk = {**COMPLETION, "object": "chat.completion.chunk"}
            chunk["choices"] = [{"index": 0, "finish_reason": "stop", "delta": first}]
            text = f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n"
        else:
            done = {"type": "response.completed", "sequence_number": 1, "response": RESPONSE}
            text = f"event: response.completed\ndata: {json.dumps(done)}\n\n"
        return httpx.Response(200, text=text, headers={"content-type": "text/event-stream"})

    transport = httpx.MockTransport(answer)
    return AsyncOpenAI(api_key="k", http_client=httpx.AsyncClient(transport=transport))


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("kind", [OpenAIChatCompletionsModel, OpenAIResponsesModel])
def test_models_of_openai(recording: Recording, kind: Any, streamed: bool) -> None:
    agent = Agent(name="a", model=kind(model="gpt-4o-mini", openai_client=client()))

    async def main() -> Any:
        if not streamed:
            return await Runner.run(agent, "hello")
        result = Runner.run_streamed(agent, "hello")
        async for _ in result.stream_events():
            pass
        return result

    assert asyncio.run(main()).final_output == "Hello from afar."
    recording.check()
    assert recording.said == [("a", "Hello from afar.")]
    [model] = recording.models
    assert (model.model, model.provider) == ("gpt-4o-mini", "openai")
    assert (model.input_tokens, model.output_tokens) == (11, 5)


def test_tool_that_the_provider_runs(recording: Recording) -> None:
    search = ResponseFunctionWebSearch(
        id="w1",
        type="web_search_call",
        status="completed",
        action=ActionSearch(type="search", query="Ulm"),
    )
    agent = Agent(
        name="a", tools=[WebSearchTool()], model=Scripted([search, says("A town on the Danube.")])
    )
    asyncio.run(Runner.run(agent, "hello"))
    recording.check()
    assert recording.said == [("a", "A town on the Danube.")]
    [called] = recording.of(ToolCalled)
    assert (called.name, called.call_id, called.index) == ("web_search", "w1", 0)
    assert isinstance(called.arguments, dict)
    assert called.arguments["query"] == "Ulm"
    assert [s.name for s in recording.spans if s.name.startswith("invoke_agent")]
    carrier = next(s for s in recording.spans if semconv.MESSAGE_INDEX in (s.attributes or {}))
    assert carrier.name == "invoke_agent a"


def test_tool_of_the_sdk_that_has_no_call_id_in_its_context(recording: Recording) -> None:
    action = LocalShellCallAction(type="exec", command=["ls"], env={})
    shell = LocalShellCall(
        id="s1", call_id="s1", type="local_shell_call", status="completed", action=action
    )
    agent = Agent(
        name="a",
        tools=[LocalShellTool(executor=lambda request: "a.txt")],
        model=Scripted([shell], says("One file.")),
    )
    asyncio.run(Runner.run(agent, "hello"))
    recording.check()
    [called] = recording.of(ToolCalled)
    assert (called.name, called.call_id, called.index) == ("local_shell", "s1", 0)
    assert isinstance(called.arguments, dict)
    assert called.arguments["command"] == ["ls"]
    assert recording.results == [("local_shell", "a.txt", None)]


def test_tool_with_a_function_of_its_own_for_the_call(recording: Recording) -> None:
    async def invoke(context: Any, given: str) -> str:
        return given.upper()

    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    own = FunctionTool("own", "Own.", schema, invoke)
    agent = Agent(name="a", tools=[own], model=Scripted(calls("own", "{}", "c1"), says("Done.")))
    asyncio.run(Runner.run(agent, "hello"))
    recording.check()
    assert recording.results == [("own", "{}", None)]


@pytest.mark.parametrize(
    "producer",
    [
        "openinference.instrumentation.openai_agents",
        "opentelemetry.instrumentation.genai.openai_agents",
    ],
)
def test_spans_are_left_to_others(recording: Recording, producer: str) -> None:
    others = pytest.importorskip(producer).OpenAIAgentsInstrumentor()
    others.instrument(tracer_provider=recording.provider)
    try:
        assert len(OpenAIAgentsInstrumentor.traced_by()) == 1
        agent = Agent(name="a", model=Scripted(says("Good day to you.")))
        asyncio.run(Runner.run(agent, "hello"))
    finally:
        others.uninstrument()
    assert recording.said == [("a", "Good day to you.")]
    assert len(recording.models) == 1
    assert {span.instrumentation_scope.name for span in recording.spans} == {producer}
    carriers = [s for s in recording.spans if semconv.MESSAGE_INDEX in (s.attributes or {})]
    assert len(carriers) == len(recording.of(MessageSent))
