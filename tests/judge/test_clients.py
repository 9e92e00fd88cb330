"""The OpenAI client against a scripted server, and what the words of real servers mean."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from email.utils import formatdate
from typing import Any

import pytest

from mastwatch.judge.client import Ask, ModelError
from mastwatch.judge.clients import FunctionClient, LangChainClient, OpenAIClient, make
from mastwatch.judge.clients.any_llm import AnyLLMClient
from mastwatch.judge.clients.errors import from_exception, from_refusal
from mastwatch.judge.clients.openai import NO_KEY
from mastwatch.judge.clients.refusals import Refusal, refusal_of
from mastwatch.judge.clients.waits import seconds_asked
from mastwatch.judge.settings import JudgeSettings
from mastwatch.testing import ScriptedModelServer
from mastwatch.testing.model_server import Failed, Said, overflow, rate_limited

SCHEMA = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
ASK = Ask(system="Judge.", user="The run.", schema=SCHEMA, max_tokens=64, timeout=5.0)


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


async def failure(script: Any, ask: Ask = ASK) -> ModelError:
    pytest.importorskip("openai")
    with ScriptedModelServer(script) as server:
        client = OpenAIClient("m", server.url)
        with pytest.raises(ModelError) as caught:
            await client.complete(ask)
        await client.close()
    return caught.value


# Errors, in the words of real servers.

TOO_LONG = [
    ("OpenAI", 400, {"code": "context_length_exceeded", "message": "This model's maximum context "
     "length is 128000 tokens. However, your messages resulted in 150000 tokens."}, 128_000),
    ("OpenAI, newer", 400, {"code": "context_length_exceeded", "message": "Input tokens exceed the "
     "configured limit of 272000 tokens. Your messages resulted in 300000 tokens."}, 272_000),
    ("vLLM", 400, {"object": "error", "type": "BadRequestError", "code": 400, "message": "This "
     "model's maximum context length is 16384 tokens. However, you requested 122946 tokens "
     "(112946 in the messages, 10000 in the completion)."}, 16_384),
    ("vLLM, reply", 400, {"code": 400, "type": "BadRequestError", "message": "'max_tokens' or "
     "'max_completion_tokens' is too large: 8000. This model's maximum context length is 4096 "
     "tokens and your request has 2778 input tokens (8000 > 4096 - 2778)."}, 4_096),
    ("vLLM, decoder", 400, {"message": "The decoder prompt (length 41216) is longer than the "
     "maximum model length of 32768."}, 32_768),
    ("llama.cpp", 400, {"code": 400, "type": "exceed_context_size_error", "message": "the request "
     "exceeds the available context size", "n_prompt_tokens": 14429, "n_ctx": 8192}, 8_192),
    ("llama.cpp, older", 500, {"code": 500, "type": "server_error", "message": "the request "
     "exceeds the available context size. try increasing the context size"}, None),
    ("llama-cpp-python", 500, {"message": "Requested tokens (2285) exceed context window of 2048"},
     2_048),
    ("Ollama", 400, {"message": "the input length exceeds the context length"}, None),
    ("Anthropic's", 400, {"message": "prompt is too long: 213 tokens > 200 maximum"}, 200),
    ("Gemini's", 400, {"message": "The input token count (1200000) exceeds the maximum number of "
     "tokens allowed (1048576)."}, 1_048_576),
    ("Mistral's", 400, {"message": "Prompt contains 40000 tokens and 0 draft tokens, too large for "
     "model with 32768 maximum context length"}, 32_768),
    ("SGLang", 400, {"message": "The input (12000 tokens) is longer than the model's context "
     "length (8192 tokens)."}, 8_192),
    ("a proxy", 413, {"message": "Payload Too Large"}, None),
    ("a minute's tokens", 429, {"code": "rate_limit_exceeded", "message": "Request too large for "
     "model on tokens per min (TPM): Limit 30000, Requested 41000."}, 30_000),
]  # fmt: skip


@pytest.mark.parametrize(
    ("status", "error", "limit"), [t[1:] for t in TOO_LONG], ids=[t[0] for t in TOO_LONG]
)
async def test_an_overflow_is_recognised_with_its_limit(
    status: int, error: Any, limit: Any
) -> None:
    caught = await failure([Failed(status=status, error=error)])
    assert (caught.kind, caught.context_tokens) == ("context_overflow", limit)


OTHERS = [
    (400, {"code": "unsupported_value", "param": "temperature", "message": "Unsupported value: "
     "'temperature' does not support 0 with this model."}, "unsupported", True),
    (400, {"param": "response_format", "message": "Invalid parameter: 'response_format' of type "
     "'json_schema' is not supported with this model."}, "unsupported", False),
    (400, {"message": "Failed to parse grammar"}, "unsupported", False),
    (500, {"message": "Failed to parse grammar"}, "unsupported", False),
    (422, {"message": "tool_choice is not permitted"}, "unsupported", False),
    (400, {"message": "library/tiny does not support tools"}, "unsupported", False),
    (401, {"code": "invalid_api_key"}, "auth", None),
    (402, {"message": "Insufficient credits"}, "auth", None),
    (403, {}, "auth", None),
    (429, {"code": "insufficient_quota", "message": "Over quota"}, "auth", None),
    (429, {"code": "rate_limit_exceeded"}, "rate_limited", None),
    (404, {"code": "model_not_found"}, "unreachable", None),
    (408, {}, "timeout", None),
    (504, {}, "timeout", None),
    (400, {"message": "Bad"}, "bad_request", None),
    (500, {"message": "CUDA error"}, "provider_error", None),
    (529, {"message": "overloaded"}, "provider_error", None),
]  # fmt: skip


@pytest.mark.parametrize(("status", "error", "kind", "sampling"), OTHERS)
async def test_what_a_servers_error_means(
    status: int, error: Any, kind: str, sampling: Any
) -> None:
    caught = await failure([Failed(status=status, error=error)])
    assert (caught.kind, caught.sampling) == (kind, sampling)


async def test_a_message_of_a_server_is_never_passed_on() -> None:
    for status in (400, 401, 404, 413, 429, 500):
        secret = "the patient is called Nobody At All"
        caught = await failure([Failed(status=status, error={"message": secret, "code": secret})])
        assert "Nobody" not in str(caught)
        assert "127.0.0.1" in str(caught)
        assert caught.__cause__ is None
        assert caught.__suppress_context__


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": formatdate(1_000_030, usegmt=True)}, 30.0),
        ({"retry-after": formatdate(999_000, usegmt=True)}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "1e400"}, None),
        ({}, None),
    ],
)
def test_how_long_a_server_asks_us_to_wait(headers: Any, seconds: float | None) -> None:
    assert seconds_asked(headers, now=1_000_000.0) == seconds


async def test_a_429_carries_its_wait() -> None:
    assert (await failure([rate_limited("7")])).retry_after == 7.0
    date = formatdate(time.time() + 60, usegmt=True)
    assert 50 < ((await failure([rate_limited(date)])).retry_after or 0) <= 60


def test_an_error_body_of_any_shape_is_survived() -> None:
    for body in (
        None,
        "text",
        7,
        [],
        {},
        {"error": "text"},
        {"error": None},
        {"error": {"code": []}},
    ):
        assert from_refusal(refusal_of(body), "here").kind == "provider_error"


class APITimeoutError(Exception):
    """As the SDKs name it; they are not imported to recognise it."""


class ContextOverflowError(Exception):
    """LangChain's."""


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (APITimeoutError(), "timeout"),
        (asyncio.TimeoutError(), "timeout"),
        (ConnectionRefusedError(), "unreachable"),
        (OSError("no route"), "unreachable"),
        (ConnectionResetError(), "timeout"),  # it may have been answered and charged for
        (ContextOverflowError("context length is 4096"), "context_overflow"),
        (RuntimeError("maximum context length is 4096 tokens"), "context_overflow"),
        (RuntimeError("boom"), "bad_request"),
        (ModelError("auth", "mine"), "auth"),
    ],
)
def test_exceptions_of_libraries_that_pass_no_status_on(error: Exception, kind: str) -> None:
    assert from_exception(error, "here").kind == kind


def test_a_code_that_is_a_sentence_is_not_shown() -> None:
    assert str(from_refusal(Refusal(status=400, code="my secret words"), "here")).endswith(
        "(HTTP 400)"
    )


# The request.


async def asked(ask: Ask, script: Any = ("{}",), **options: Any) -> tuple[dict[str, Any], Any]:
    pytest.importorskip("openai")
    with ScriptedModelServer(script) as server:
        client = OpenAIClient("m", server.url, **options)
        reply = await client.complete(ask)
        await client.close()
        return {**server.requests[-1], "headers": server.headers[-1]}, reply


async def test_each_rung_holds_the_reply_in_its_way() -> None:
    def at(rung: Any) -> Ask:
        return Ask(system="s", user="u", schema=SCHEMA, rung=rung)

    strict, reply = await asked(at("json_schema"))
    assert strict["response_format"]["json_schema"]["strict"] is True
    loose, _ = await asked(at("json_object"))
    assert loose["response_format"] == {"type": "json_object"}
    tool, reply = await asked(at("tool"), [{"modes": {}}])
    assert tool["tool_choice"]["function"]["name"] == tool["tools"][0]["function"]["name"]
    assert reply.text == '{"modes": {}}'
    bare, _ = await asked(at("extract"))
    assert not {"response_format", "tools", "temperature", "seed", "stream"} & set(bare)


async def test_a_local_server_gets_a_placeholder_and_never_an_empty_key() -> None:
    request, _ = await asked(ASK)
    assert request["headers"]["authorization"] == f"Bearer {NO_KEY}"


async def test_the_key_is_the_argument_or_the_variable(monkeypatch: Any) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "from-the-variable")
    request, _ = await asked(ASK)
    assert request["headers"]["authorization"] == "Bearer from-the-variable"
    request, _ = await asked(ASK, api_key="given")
    assert request["headers"]["authorization"] == "Bearer given"


async def test_without_key_and_address_nothing_is_sent() -> None:
    with pytest.raises(ModelError, match="OPENAI_API_KEY") as caught:
        await OpenAIClient("m").complete(ASK)
    assert caught.value.kind == "auth"


def test_the_address_holds_no_password() -> None:
    client = OpenAIClient("m", "https://me:secret@proxy.example:8443/v1/?key=secret")
    assert client.address == "https://proxy.example:8443/v1"


async def test_the_sdk_does_not_retry_by_itself() -> None:
    pytest.importorskip("openai")
    with ScriptedModelServer([Failed(status=500)]) as server:
        client = OpenAIClient("m", server.url)
        with pytest.raises(ModelError):
            await client.complete(ASK)
        assert len(server.requests) == 1


async def test_the_name_of_the_reply_length_is_learned() -> None:
    pytest.importorskip("openai")

    def script(request: dict[str, Any]) -> Any:
        if "max_tokens" in request:
            return Failed(status=400, error={
                "message": "Unsupported parameter: 'max_tokens' is not supported with this model. "
                "Use 'max_completion_tokens' instead.",
                "code": "unsupported_parameter", "param": "max_tokens",
            })  # fmt: skip
        return "{}"

    with ScriptedModelServer(script) as server:
        client = OpenAIClient("m", server.url)
        for _ in range(2):
            assert (await client.complete(ASK)).text == "{}"
        assert ["max_tokens" in r for r in server.requests] == [True, False, False]
    assert OpenAIClient("m", api_key="k")._length == "max_completion_tokens"


async def test_a_limit_of_the_reply_is_kept() -> None:
    pytest.importorskip("openai")

    def script(request: dict[str, Any]) -> Any:
        if request["max_tokens"] > 32:
            message = (
                "max_tokens is too large: 64. This model supports at most 32 completion tokens"
            )
            return Failed(status=400, error={"message": message, "param": "max_tokens"})
        return "{}"

    with ScriptedModelServer(script) as server:
        client = OpenAIClient("m", server.url)
        for _ in range(2):
            await client.complete(ASK)
        assert [r["max_tokens"] for r in server.requests] == [64, 32, 32]


async def test_a_server_that_minds_the_length_in_every_way_is_asked_twice_at_most() -> None:
    error = {"message": "max_tokens and max_completion_tokens are not supported"}
    caught = await failure([Failed(status=400, error=error)])
    assert caught.kind == "bad_request"


async def test_an_overflow_is_not_mistaken_for_the_reply_length() -> None:
    assert (await failure([overflow(4_096)])).context_tokens == 4_096


# The reply.


async def test_what_is_read_of_a_reply() -> None:
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    said = Said(content="{}", finish_reason="length", usage=usage, model="m-2026-01-01")
    _, reply = await asked(ASK, [said])
    assert (reply.model, reply.input_tokens, reply.output_tokens) == ("m-2026-01-01", 11, 7)
    assert reply.truncated
    _, silent = await asked(ASK, [Said(content="{}", usage=None)])
    assert (silent.input_tokens, silent.output_tokens) == (None, None)


async def test_on_the_tool_rung_an_answer_in_words_is_read_too() -> None:
    pytest.importorskip("openai")
    message = {"role": "assistant", "content": '{"modes": {}}'}
    body = {"id": "1", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    _, reply = await asked(Ask(system="s", user="u", schema=SCHEMA, rung="tool"), [Said(body=body)])
    assert reply.text == '{"modes": {}}'


def test_one_client_serves_one_event_loop_after_the_other() -> None:
    pytest.importorskip("openai")
    with ScriptedModelServer(["{}"]) as server:
        client = OpenAIClient("m", server.url)

        async def twice() -> None:
            for _ in range(2):
                await client.complete(ASK)
            await client.close()

        for _ in range(3):
            asyncio.run(twice())
        assert len(server.requests) == 6


async def test_one_client_serves_several_event_loops_at_once() -> None:
    pytest.importorskip("openai")
    with ScriptedModelServer(["{}"]) as server:
        client = OpenAIClient("m", server.url)

        async def elsewhere() -> None:
            await client.complete(ASK)
            await client.close()

        await client.complete(ASK)
        await asyncio.to_thread(asyncio.run, elsewhere())
        await client.complete(ASK)  # its own connections are still open
        await client.close()
        assert len(server.requests) == 3


# Which client.


def test_make_finds_the_client() -> None:
    settings = JudgeSettings(model="from-settings", base_url="http://127.0.0.1:1/v1")

    class Model:
        async def ainvoke(self, messages: Any) -> str:
            return ""

        def __call__(self) -> None: ...

    client = OpenAIClient("x", "http://127.0.0.1:2/v1")
    assert make(client, settings) is client
    assert make(None, settings).model == "from-settings"
    assert make("llama3:8b", settings).address == "http://127.0.0.1:1/v1"
    assert isinstance(make(Model(), settings), LangChainClient)
    assert isinstance(make(lambda messages, schema: "", settings), FunctionClient)
    through = make("any-llm:anthropic:claude", JudgeSettings())
    assert isinstance(through, AnyLLMClient)
    assert (through.provider, through.model) == ("anthropic", "claude")


@pytest.mark.parametrize(
    ("model", "error", "says"),
    [
        ("", ValueError, "MASTWATCH_JUDGE_MODEL"),
        ("any-llm:claude", ValueError, "PROVIDER:MODEL"),
        (7, TypeError, "int"),
    ],
)
def test_what_is_no_model_is_said(model: Any, error: Any, says: str) -> None:
    with pytest.raises(error, match=says):
        make(model, JudgeSettings())


def test_importing_the_judge_loads_no_library_of_models() -> None:
    code = (
        "import sys, mastwatch, mastwatch.judge, mastwatch.judge.judge;"
        "import mastwatch.judge.clients as c; from mastwatch.judge.settings import JudgeSettings;"
        "c.make('m', JudgeSettings()); c.make(print, JudgeSettings());"
        "names = ('openai', 'any_llm', 'langchain_core', 'httpx', 'httpx2', 'pydantic');"
        "print([n for n in names if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
