"""Errors, retries, streams left early, threads, and calls that belong to somebody else."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import openai
import pytest

from apps.openai_models import Model
from mastwatch.spans.suppress import untraced

QUESTION, REPLY = "What is the capital of France?", "It is Paris, as everybody knows."
CHAT = {"model": "gpt", "messages": [{"role": "user", "content": QUESTION}]}


def test_an_error_is_the_same_object_and_no_utterance(seen):
    client = Model([429, 429]).client()
    with pytest.raises(openai.RateLimitError):
        client.chat.completions.create(**CHAT)
    assert [m.error for m in seen.models] == ["openai.RateLimitError"]
    assert seen.said == []
    seen.emitter.histories.close()
    assert seen.ends == [("error", "openai.RateLimitError")]


def test_who_asks_again_after_an_error_goes_on_in_the_same_run(seen):
    client = Model([500, REPLY]).client()
    with pytest.raises(openai.InternalServerError):
        client.chat.completions.create(**CHAT)
    client.chat.completions.create(**CHAT)
    seen.emitter.histories.close()
    assert [m.error for m in seen.models] == ["openai.InternalServerError", None]
    assert seen.said == [("assistant", REPLY)]
    assert seen.ends == [("completed", "no further call")]


def test_retries_of_the_sdk_are_one_call(seen):
    model = Model([500, 500, REPLY])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.001)
        model.client(max_retries=3).chat.completions.create(**CHAT)
    assert len(model.requests) == 3
    assert len(seen.models) == len(seen.said) == 1


@pytest.mark.parametrize("how", ["close", "with", "break", "helper", "unread"])
def test_a_stream_left_early(seen, how):
    client = Model([REPLY]).client()
    if how == "helper":
        with client.chat.completions.stream(**CHAT) as helped:
            next(helped)
    else:
        stream = client.chat.completions.create(stream=True, **CHAT)
        assert seen.models == []
        if how == "with":
            with stream:
                next(stream)
        elif how == "break":
            for _ in stream:
                break
        elif how == "close":
            next(stream)
            stream.close()
        if how in ("break", "unread"):
            del stream
            gc.collect()
            assert seen.models == []  # a finalizer tells nothing by itself
            seen.emitter.histories.expire()
    (model,) = seen.models
    assert (model.input_tokens, model.output_tokens, model.error) == (None, None, None)
    assert seen.said == []
    seen.emitter.histories.close()
    assert seen.ends == [("abandoned", "stream left early")]


def test_an_async_stream_left_early(seen):
    async def leave() -> None:
        client = Model([REPLY]).async_client()
        stream = await client.chat.completions.create(stream=True, **CHAT)
        async for _ in stream:
            break
        await stream.close()

    asyncio.run(leave())
    assert len(seen.models) == 1
    assert seen.said == []


def test_a_stream_that_is_left_after_its_last_word_has_said_it(seen):
    stream = Model([REPLY]).client().chat.completions.create(stream=True, **CHAT)
    for chunk in stream:
        if chunk.choices[0].finish_reason:
            break
    stream.close()
    assert seen.said == [("assistant", REPLY)]


def test_a_stream_that_is_dropped_after_its_last_word_has_said_it(seen):
    stream = Model([REPLY]).client().chat.completions.create(stream=True, **CHAT)
    for chunk in stream:
        if chunk.choices[0].finish_reason:
            break
    del stream
    gc.collect()
    seen.emitter.histories.close()
    assert seen.said == [("assistant", REPLY)]
    assert seen.ends == [("completed", "no further call")]


def test_streams_that_are_collected_while_we_hold_a_lock(seen):
    client = Model([REPLY]).client()
    held: list[bool] = []

    def observe(event: Any) -> list[Any]:
        held.append(True)
        gc.collect()  # as the collector may run at any allocation
        assert held.pop()
        assert not held, "told in the middle of telling something else"
        seen.events.append(event)
        return []

    seen.observe = observe
    for _ in range(5):
        stream = client.chat.completions.create(stream=True, **CHAT)
        next(stream)
        del stream
    gc.collect()
    seen.emitter.histories.close()
    assert len(seen.models) == 5


def test_a_stream_that_breaks(seen):
    client = Model([REPLY]).client()
    stream = client.chat.completions.create(stream=True, **CHAT)
    stream.response.close()
    broken = RuntimeError("connection lost")

    def lost() -> Any:
        raise broken
        yield

    stream._iterator._inner = lost()
    with pytest.raises(RuntimeError) as caught:
        list(stream)
    assert caught.value is broken
    assert [m.error for m in seen.models] == ["RuntimeError"]


def test_cancelled(seen):
    async def cancel() -> None:
        started = asyncio.Event()
        client = Model([REPLY]).async_client()

        async def hang(*_: Any, **__: Any) -> Any:
            started.set()
            await asyncio.sleep(60)

        client._client.send = hang
        task = asyncio.create_task(client.chat.completions.create(**CHAT))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    assert [m.error for m in seen.models] == ["asyncio.exceptions.CancelledError"]
    seen.emitter.histories.close()
    assert seen.ends == [("cancelled", "asyncio.exceptions.CancelledError")]


def test_a_client_shared_by_threads(seen):
    def answer(request: dict[str, Any]) -> str:
        return f"Here is {request['messages'][-1]['content']}, as you asked for it."

    client = Model(answer).client()

    def converse(number: int) -> None:
        said = [{"role": "user", "content": f"part one of {number}"}]
        for part in ("two", "three"):
            text = client.chat.completions.create(model="gpt", messages=said)
            said.append({"role": "assistant", "content": text.choices[0].message.content})
            said.append({"role": "user", "content": f"part {part} of {number}"})
        client.chat.completions.create(model="gpt", messages=said)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(converse, range(20)))
    seen.emitter.histories.close()
    assert seen.ends == [("completed", "no further call")] * 20
    assert len(seen.models) == 60
    runs = {m.run_id: 0 for m in seen.models}
    assert len(runs) == 20


def test_our_own_judge_is_not_watched(seen):
    with untraced():
        Model([REPLY]).client().chat.completions.create(**CHAT)
    assert seen.events == []


def test_inside_a_call_of_a_library_above_it_only_adds_what_it_knows(seen):
    run = seen.emitter.start_run("above", framework="other")
    call = run.model_call(agent="writer")
    Model([REPLY]).client().chat.completions.create(**CHAT)
    call.answered(REPLY)
    call.end()
    run.finish("completed")
    (model,) = seen.models
    assert (model.agent, model.model, model.provider) == ("writer", "gpt", "openai")
    assert (model.input_tokens, model.output_tokens) == (11, 7)
    assert [span.name for span in seen.spans] == ["invoke_workflow above", "chat"]


def test_inside_a_turn_or_tool_of_a_framework_it_is_a_model_call_and_no_utterance(seen):
    run = seen.emitter.start_run("above", framework="other")
    turn = run.turn("writer")
    with turn.attached():
        Model([REPLY]).client().chat.completions.create(**CHAT)
    turn.end()
    run.finish("completed")
    (model,) = seen.models
    assert (model.agent, model.run_id) == ("writer", run.id)
    assert seen.said == []


def test_two_streams_open_at_once_are_two_calls(seen):
    client = Model(["The one answer.", "The other answer."]).client()
    first = client.chat.completions.create(stream=True, **CHAT)
    second = client.chat.completions.create(stream=True, **CHAT)
    for stream in (second, first):
        list(stream)
    assert sorted(text or "" for _, text in seen.said) == ["The one answer.", "The other answer."]
    assert len({m.run_id for m in seen.models}) == 2


def test_an_iterator_of_messages_is_left_to_the_sdk(seen):
    model = Model([REPLY])
    model.client().chat.completions.create(model="gpt", messages=iter(CHAT["messages"]))
    assert model.requests[0]["messages"] == CHAT["messages"]
    assert [m.text for m in seen.models] == [REPLY]


def _resources() -> list[type]:
    resources = openai.resources
    chat, responses = resources.chat.completions, resources.responses
    return [
        chat.Completions,
        chat.AsyncCompletions,
        responses.Responses,
        responses.AsyncResponses,
    ]


def _restore(found: list[tuple[type, dict[str, Any]]]) -> None:
    # OpenLLMetry 0.62.4 leaves its wrappers where they are.
    for owner, attributes in found:
        for name in ("create", "parse"):
            setattr(owner, name, attributes[name])


@pytest.mark.parametrize(
    "producer",
    [
        "opentelemetry.instrumentation.genai.openai",
        "openinference.instrumentation.openai",
        "opentelemetry.instrumentation.openai",
    ],
)
@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_where_others_make_spans_ours_only_tells_events(producer, first):
    from importlib import import_module

    from mastwatch.testing.recording import Recording
    from mastwatch_instrumentations.openai_sdk import OpenAIInstrumentor

    pytest.importorskip(producer)
    recording, ours = Recording(), OpenAIInstrumentor()
    theirs = import_module(producer).OpenAIInstrumentor()
    with contextlib.ExitStack() as undo:  # the last one first: each unwraps only what is on top
        undo.callback(_restore, [(owner, dict(vars(owner))) for owner in _resources()])
        steps = [
            lambda: (ours.install(recording.emitter), undo.callback(ours.uninstall)),
            lambda: (
                theirs.instrument(tracer_provider=recording.provider),
                undo.callback(theirs.uninstrument),
            ),
        ]
        for step in steps if first == "ours" else reversed(steps):
            step()
        assert ours.traced_by() == (f"{producer}:OpenAIInstrumentor",)
        client = Model([REPLY]).client()
        assert client.chat.completions.create(**CHAT).choices[0].message.content == REPLY
        recording.emitter.histories.close()
        assert recording.said == [("assistant", REPLY)]
        assert len(recording.models) == 1
        own = [s for s in recording.spans if s.instrumentation_scope.name == "mastwatch"]
        assert [s.name for s in own if not s.name.startswith("agent_message")] == []
        carriers = [s for s in recording.spans if "mastwatch.message.index" in s.attributes]
        assert len(carriers) == 1
