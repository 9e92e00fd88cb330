"""AG2 over the OpenAI SDK, both instrumented: a model call is told once."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
from ag2 import Agent
from ag2.config import OpenAIConfig

from mastwatch.testing.recording import Recording
from mastwatch_instrumentations.openai_sdk import OpenAIInstrumentor

pytest.importorskip("openai")
try:
    OpenAIConfig("small", api_key="none")
except ImportError as error:  # a stand-in that raises: this openai is too old for this ag2
    pytest.skip(str(error), allow_module_level=True)
httpx = importlib.import_module("apps.openai_models").httpx

ABOUT = {"id": "r1", "created": 1, "model": "small-2-exact"}
USAGE = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}


@pytest.fixture
def both(recording: Recording) -> Iterator[Recording]:
    below = OpenAIInstrumentor()
    below.install(recording.emitter)
    yield recording
    below.uninstall()


def respond(request: Any) -> Any:
    if json.loads(request.content).get("stream"):
        delta = {"index": 0, "delta": {"role": "assistant", "content": "Four."}}
        last = {"index": 0, "delta": {}, "finish_reason": "stop"}
        chunks = [{"choices": [delta]}, {"choices": [last]}, {"choices": [], "usage": USAGE}]
        kind = {"object": "chat.completion.chunk", **ABOUT}
        lines = [f"data: {json.dumps({**kind, **chunk})}\n\n" for chunk in chunks]
        headers = {"content-type": "text/event-stream"}
        return httpx.Response(200, text="".join(lines) + "data: [DONE]\n\n", headers=headers)
    message = {"role": "assistant", "content": "Four."}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    body = {"object": "chat.completion", "choices": [choice], "usage": USAGE, **ABOUT}
    return httpx.Response(200, json=body)


@pytest.mark.parametrize("streaming", [False, True])
async def test_model_call_through_the_sdk_is_one(both: Recording, streaming: bool) -> None:
    client = httpx.AsyncClient(transport=httpx.MockTransport(respond))
    config = OpenAIConfig("small-2", api_key="none", http_client=client, streaming=streaming)

    reply = await Agent("shop", "You sell tea.", config=config).ask("How much is tea?")

    assert reply.body == "Four."
    [call] = both.models
    assert (call.agent, call.text, call.provider) == ("shop", "Four.", "openai")
    assert call.model == "small-2"
    assert (call.input_tokens, call.output_tokens) == (9, 3)
    assert [(m.role, m.content) for m in call.request or ()] == [
        ("system", "You sell tea."),
        ("user", "How much is tea?"),
    ]
    assert [span.name.split()[0] for span in both.spans].count("chat") == 1
    assert both.said == [("shop", "Four.")]
    both.check()
