"""Every way to ask the SDK: one model call, one utterance, and what came back as it is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import openai
import pytest
from pydantic import BaseModel

from apps.openai_models import Model
from mastwatch.events import MessageSent, RunStarted

SYSTEM, QUESTION, REPLY = "You are terse.", "What is the capital?", "The capital is Paris."
MESSAGES = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
CHAT = {"model": "gpt", "messages": MESSAGES}
RESPONSE = {"model": "gpt", "instructions": SYSTEM, "input": QUESTION}
USAGE = {"stream_options": {"include_usage": True}}


class City(BaseModel):
    name: str


def _chat_text(completion: Any) -> str:
    return completion.choices[0].message.content


def _stream(client: Any) -> str:
    stream = client.chat.completions.create(stream=True, **CHAT, **USAGE)
    assert type(stream) is openai.Stream
    return "".join(c.choices[0].delta.content or "" for c in stream if c.choices)


def _stream_by_next(client: Any) -> str:
    with client.chat.completions.create(stream=True, **CHAT, **USAGE) as stream:
        chunks = []
        while (chunk := next(stream, None)) is not None:
            chunks.append(chunk)
    return "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)


def _helper(client: Any) -> str:
    with client.chat.completions.stream(**CHAT, **USAGE) as stream:
        return _chat_text(stream.get_final_completion())


def _raw_body(client: Any) -> str:
    raw = client.chat.completions.with_raw_response.create(**CHAT)
    return raw.http_response.json()["choices"][0]["message"]["content"]


def _raw_stream(client: Any) -> str:
    raw = client.chat.completions.with_raw_response.create(stream=True, **CHAT, **USAGE)
    assert type(raw.parse()) is openai.Stream
    return "".join(c.choices[0].delta.content or "" for c in raw.parse() if c.choices)


def _streaming_response(client: Any) -> str:
    with client.chat.completions.with_streaming_response.create(**CHAT) as response:
        return _chat_text(response.parse())


def _streaming_response_read(client: Any) -> str:
    with client.chat.completions.with_streaming_response.create(**CHAT) as response:
        return response.json()["choices"][0]["message"]["content"]


def _responses_stream(client: Any) -> str:
    stream = client.responses.create(stream=True, **RESPONSE)
    assert type(stream) is openai.Stream
    return [e for e in stream if e.type == "response.completed"].pop().response.output_text


def _responses_helper(client: Any) -> str:
    with client.responses.stream(**RESPONSE) as stream:
        return stream.get_final_response().output_text


WAYS: dict[str, Callable[[Any], str]] = {
    "create": lambda c: _chat_text(c.chat.completions.create(**CHAT)),
    "options": lambda c: _chat_text(c.with_options(timeout=5).chat.completions.create(**CHAT)),
    "parse": lambda c: _chat_text(c.chat.completions.parse(**CHAT)),
    "stream": _stream,
    "stream by next": _stream_by_next,
    "stream helper": _helper,
    "raw": lambda c: _chat_text(c.chat.completions.with_raw_response.create(**CHAT).parse()),
    "raw parse": lambda c: _chat_text(c.chat.completions.with_raw_response.parse(**CHAT).parse()),
    "raw body": _raw_body,
    "raw stream": _raw_stream,
    "streaming response": _streaming_response,
    "streaming response read": _streaming_response_read,
    "responses": lambda c: c.responses.create(**RESPONSE).output_text,
    "responses parse": lambda c: c.responses.parse(**RESPONSE).output_text,
    "responses stream": _responses_stream,
    "responses helper": _responses_helper,
    "responses raw": lambda c: c.responses.with_raw_response.create(**RESPONSE).parse().output_text,
}


@pytest.mark.parametrize("way", WAYS)
def test_sync(seen, way):
    assert WAYS[way](Model([REPLY]).client()) == REPLY
    _check(seen)


async def _async_stream(client: Any) -> str:
    stream = await client.chat.completions.create(stream=True, **CHAT, **USAGE)
    assert type(stream) is openai.AsyncStream
    return "".join([c.choices[0].delta.content or "" async for c in stream if c.choices])


async def _async_helper(client: Any) -> str:
    async with client.chat.completions.stream(**CHAT, **USAGE) as stream:
        return _chat_text(await stream.get_final_completion())


async def _async_raw_stream(client: Any) -> str:
    raw = await client.chat.completions.with_raw_response.create(stream=True, **CHAT, **USAGE)
    return "".join([c.choices[0].delta.content or "" async for c in raw.parse() if c.choices])


async def _async_streaming_response(client: Any) -> str:
    async with client.chat.completions.with_streaming_response.create(**CHAT) as response:
        return _chat_text(await response.parse())


async def _async_responses_stream(client: Any) -> str:
    stream = await client.responses.create(stream=True, **RESPONSE)
    return [e async for e in stream if e.type == "response.completed"].pop().response.output_text


async def _async_responses_helper(client: Any) -> str:
    async with client.responses.stream(**RESPONSE) as stream:
        return (await stream.get_final_response()).output_text


async def _async_create(client: Any) -> str:
    return _chat_text(await client.chat.completions.create(**CHAT))


async def _async_parse(client: Any) -> str:
    return _chat_text(await client.chat.completions.parse(**CHAT))


async def _async_raw(client: Any) -> str:
    return _chat_text((await client.chat.completions.with_raw_response.create(**CHAT)).parse())


async def _async_responses(client: Any) -> str:
    return (await client.responses.create(**RESPONSE)).output_text


ASYNC_WAYS = {
    function.__name__: function
    for function in (
        _async_create,
        _async_parse,
        _async_stream,
        _async_helper,
        _async_raw,
        _async_raw_stream,
        _async_streaming_response,
        _async_responses,
        _async_responses_stream,
        _async_responses_helper,
    )
}


@pytest.mark.parametrize("way", ASYNC_WAYS)
def test_async(seen, way):
    assert asyncio.run(ASYNC_WAYS[way](Model([REPLY]).async_client())) == REPLY
    _check(seen)


def _check(seen: Any) -> None:
    seen.emitter.histories.close()
    assert seen.said == [("assistant", REPLY)]
    (model,) = seen.models
    assert (model.agent, model.model, model.provider) == ("assistant", "gpt", "openai")
    assert (model.text, model.error) == (REPLY, None)
    assert (model.input_tokens, model.output_tokens) == (11, 7)
    assert [(m.role, m.content) for m in model.request or ()] == [
        ("system", SYSTEM),
        ("user", QUESTION),
    ]
    (started,) = seen.of(RunStarted)
    assert (started.framework, started.task) == ("openai", QUESTION)
    assert started.prompts == {"assistant": SYSTEM}
    assert [span.name for span in seen.spans] == ["invoke_workflow gpt", "chat gpt"]
    assert seen.ends == [("completed", "no further call")]


def test_the_modules_own_client(seen, monkeypatch):
    client = Model([REPLY]).client()
    monkeypatch.setattr(openai, "api_key", "k")
    monkeypatch.setattr(openai, "http_client", client._client)
    monkeypatch.setattr(openai, "_client", None, raising=False)
    assert _chat_text(openai.chat.completions.create(**CHAT)) == REPLY
    openai._reset_client()
    _check(seen)


def test_a_parsed_answer(seen):
    completion = Model(['{"name": "Paris"}']).client()
    parsed = completion.chat.completions.parse(response_format=City, **CHAT)
    assert parsed.choices[0].message.parsed == City(name="Paris")
    assert seen.said == [("assistant", '{"name": "Paris"}')]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("api", ["chat", "responses"])
def test_tool_calls(seen, api, streamed):
    client = Model([{"search": {"q": "Paris"}, "look": {"n": 1}}]).client()
    if api == "chat":
        made = client.chat.completions.create(stream=streamed, **CHAT)
    else:
        made = client.responses.create(stream=streamed, **RESPONSE)
    if streamed:
        list(made)
    (message,) = seen.of(MessageSent)
    assert [(c.name, c.arguments, c.call_id) for c in message.tool_calls] == [
        ("search", {"q": "Paris"}, "call_1"),
        ("look", {"n": 1}, "call_2"),
    ]
    seen.emitter.histories.close()
    assert seen.ends == [("unknown", "no results of the tools that were asked for")]


def test_what_an_uninstrumented_sdk_returns_is_what_comes_back():
    from mastwatch.testing.recording import Recording
    from mastwatch_instrumentations.openai_sdk import OpenAIInstrumentor

    before = {way: WAYS[way](Model([REPLY]).client()) for way in WAYS}
    instrumentor = OpenAIInstrumentor()
    instrumentor.install(Recording().emitter)
    during = {way: WAYS[way](Model([REPLY]).client()) for way in WAYS}
    instrumentor.uninstall()
    assert before == during
    create = openai.resources.chat.completions.Completions.create
    assert not hasattr(create, "__mastwatch_site__")
