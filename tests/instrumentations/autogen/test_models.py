"""Model calls through AG2's real OpenAI client, against a server on loopback."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from autogen import ConversableAgent, OpenAIWrapper

from apps import autogen_apps as apps

USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
COMMON = {"id": "chatcmpl-1", "created": 1, "model": "gpt-4o-mini-2024-07-18"}


class Handler(BaseHTTPRequestHandler):
    """Answers every completion with the same text, streamed on request."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        if asked.get("stream"):
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            for chunk in chunks():
                self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
            self.wfile.write(b"data: [DONE]\n\n")
            return
        message = {"role": "assistant", "content": "Paris. TERMINATE"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        body = {**COMMON, "object": "chat.completion", "choices": [choice], "usage": USAGE}
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_: Any) -> None:
        pass


def chunks() -> list[dict[str, Any]]:
    deltas = [{"role": "assistant"}, {"content": "Paris. "}, {"content": "TERMINATE"}]
    found: list[dict[str, Any]] = [
        {
            **COMMON,
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": delta, "finish_reason": None}],
        }
        for delta in deltas
    ]
    found[-1]["choices"][0]["finish_reason"] = "stop"
    return [*found, {**COMMON, "object": "chat.completion.chunk", "choices": [], "usage": USAGE}]


@pytest.fixture
def config() -> Iterator[dict[str, Any]]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield {
        "model": "gpt-4o-mini",
        "api_key": "sk-" + "a" * 48,
        "base_url": f"http://127.0.0.1:{server.server_port}/v1",
    }
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("stream", [False, True])
def test_a_call_of_the_openai_client(seen: Any, config: dict[str, Any], stream: bool) -> None:
    if stream:
        if not hasattr(ConversableAgent, "run_iter"):
            pytest.skip("before 0.14 AG2 counts the tokens of a stream with a downloaded table")
        config["stream"] = True
    options = {"config_list": [config], "cache_seed": None}
    helper = ConversableAgent(
        "helper", llm_config=options, human_input_mode="NEVER", system_message="Be brief."
    )
    apps.user().initiate_chat(helper, message="Capital of France?")
    (call,) = seen.models
    assert (call.agent, call.model, call.provider) == ("helper", "gpt-4o-mini", "openai")
    assert call.text == "Paris. TERMINATE"
    assert [(m.role, m.content) for m in call.request] == [
        ("system", "Be brief."),
        ("user", "Capital of France?"),
    ]
    assert call.input_tokens is not None
    if not stream:
        assert (call.input_tokens, call.output_tokens) == (11, 7)
    assert seen.names().count("chat gpt-4o-mini") == 1
    assert seen.said == [("user", "Capital of France?"), ("helper", "Paris. TERMINATE")]
    seen.check()


@pytest.mark.parametrize("by_name", [False, True])
def test_a_call_an_agent_makes_with_its_own_client(
    seen: Any, config: dict[str, Any], by_name: bool
) -> None:
    client = OpenAIWrapper(config_list=[config], cache_seed=None)

    def ask(recipient: Any, messages: Any = None, **_: Any) -> tuple[bool, str]:
        asked = [{"role": "user", "content": "Capital of France?"}]
        response = client.create(messages=asked, agent=recipient.name if by_name else recipient)
        return True, client.extract_text_or_completion_object(response)[0]

    helper = apps.canned("helper")
    helper.register_reply([ConversableAgent, None], ask, position=0)
    apps.user().initiate_chat(helper, message="Help me")
    (call,) = seen.models
    assert (call.agent, call.text, call.input_tokens) == ("helper", "Paris. TERMINATE", 11)
    seen.check()


def test_the_call_that_sums_up_is_in_the_run_but_no_turn(seen: Any, config: dict[str, Any]) -> None:
    helper = ConversableAgent(
        "helper",
        llm_config={"config_list": [config], "cache_seed": None},
        human_input_mode="NEVER",
    )
    apps.user().initiate_chat(
        helper, message="Capital of France?", summary_method="reflection_with_llm"
    )
    assert len(seen.models) == 2
    assert seen.said == [("user", "Capital of France?"), ("helper", "Paris. TERMINATE")]
    seen.check()


async def test_a_call_from_a_pool_thread_by_an_agent_that_gives_its_name(
    seen: Any, config: dict[str, Any]
) -> None:
    import asyncio

    client = OpenAIWrapper(config_list=[config], cache_seed=None)
    asked = [{"role": "user", "content": "Capital of France?"}]

    async def ask(recipient: Any, messages: Any = None, **_: Any) -> tuple[bool, str]:
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, lambda: client.create(messages=asked, agent="helper"))
        return True, "TERMINATE"

    helper = apps.canned("helper")
    helper.register_reply([ConversableAgent, None], ask, position=0)
    await apps.user().a_initiate_chat(helper, message="Help me")
    assert [call.agent for call in seen.models] == ["helper"]
    seen.check()
