"""Functions, LangChain models and any-llm as the judge; and nobody watches it."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import types
from typing import Any

import pytest
from opentelemetry import context

from mastwatch.judge.client import RUNGS, Ask, ModelError, Reply
from mastwatch.judge.clients import AnyLLMClient, FunctionClient, LangChainClient, make
from mastwatch.judge.judge import Judge
from mastwatch.judge.modes import mast
from mastwatch.judge.settings import JudgeSettings
from mastwatch.spans.suppress import untraced
from mastwatch.store import Report, Trace, TraceRow

SLUGS = mast().slugs
ABSENT = {"verdict": "absent", "confidence": 0.9, "evidence": [], "why": ""}
VERDICTS = {"modes": dict.fromkeys(SLUGS, ABSENT), "task_completed": "yes"}
ASK = Ask(system="Judge.", user="The run.", schema={"type": "object"}, timeout=5.0)
TRACE = Trace(
    run_id="run-1",
    rows=tuple(TraceRow(index=i, agent=f"a{i % 2}", text=f"This is row {i}.") for i in range(4)),
)


async def report(model: Any, **options: Any) -> Report:
    settings = JudgeSettings(**{"profile": "fast", "retries": 0, **options})
    judge = Judge(make(model, settings), settings)
    try:
        return await judge.judge(TRACE)
    finally:
        await judge.close()


def all_absent(found: Report) -> bool:
    return {v.verdict for v in found.verdicts.values()} == {"absent"}


# Functions.


def a_function(messages: list[dict[str, str]], schema: Any) -> dict[str, Any]:
    assert [m["role"] for m in messages] == ["system", "user"]
    assert schema["properties"]["modes"]["required"] == list(SLUGS)
    return VERDICTS


async def an_async_function(messages: Any, schema: Any) -> str:
    return json.dumps(VERDICTS)


class Callable:
    async def __call__(self, messages: Any, schema: Any) -> Reply:
        return Reply(text=json.dumps(VERDICTS), model="mine", input_tokens=9, output_tokens=9)


@pytest.mark.parametrize(
    "function", [a_function, an_async_function, Callable(), lambda m, s: an_async_function(m, s)]
)
async def test_any_function_can_judge(function: Any) -> None:
    found = await report(function)
    assert all_absent(found)
    assert found.provider == "function"
    assert found.usage.estimated is not isinstance(function, Callable)


async def test_a_sync_function_does_not_hold_up_the_event_loop() -> None:
    def slow(messages: Any, schema: Any) -> dict[str, Any]:
        assert threading.current_thread() is not threading.main_thread()
        return VERDICTS

    assert all_absent(await report(slow))


@pytest.mark.parametrize("answer", [7, ["a"], object()])
async def test_what_a_function_may_not_return_is_said(answer: Any) -> None:
    with pytest.raises(ModelError, match=f"returned {type(answer).__name__}; it must return"):
        await FunctionClient(lambda m, s: answer).complete(ASK)


async def test_a_function_that_returns_nothing_gave_no_answer() -> None:
    found = await report(lambda m, s: None)
    assert {v.reason for v in found.verdicts.values()} == {"empty"}


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ValueError("the secret"), "provider_error"),
        (ConnectionRefusedError("the secret"), "unreachable"),
        (TimeoutError("the secret"), "timeout"),
        (RuntimeError("maximum context length is 2048 tokens"), "context_overflow"),
    ],
)
async def test_a_function_that_raises_is_a_failure_without_its_words(
    error: Any, reason: str
) -> None:
    def function(messages: Any, schema: Any) -> str:
        raise error

    found = await report(function)
    assert {v.reason for v in found.verdicts.values()} == {reason}
    assert not any("secret" in problem for problem in found.problems)


def test_two_functions_are_never_taken_for_one_another() -> None:
    def made(answer: str) -> Any:
        return lambda messages, schema: answer

    one, other = FunctionClient(made("1")), FunctionClient(made("2"))
    assert one.address != other.address
    assert FunctionClient(a_function).address == FunctionClient(a_function).address
    assert FunctionClient(Callable()).address != FunctionClient(Callable()).address


# any-llm.


@pytest.fixture
def any_llm(monkeypatch: pytest.MonkeyPatch) -> types.SimpleNamespace:
    """A stand-in with the signature of any-llm 1.40: it is no dependency of the tests."""
    module = types.ModuleType("any_llm")
    seen = types.SimpleNamespace(calls=[], error=None)

    async def acompletion(model: str, messages: Any, **options: Any) -> Any:
        seen.calls.append({"model": model, **options})
        if seen.error is not None:
            raise seen.error
        message = types.SimpleNamespace(content=json.dumps(VERDICTS), refusal=None, tool_calls=None)
        choice = types.SimpleNamespace(message=message, finish_reason="stop")
        usage = types.SimpleNamespace(prompt_tokens=5, completion_tokens=6)
        return types.SimpleNamespace(choices=[choice], usage=usage, model="claude-x")

    module.acompletion = acompletion  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "any_llm", module)
    return seen


async def test_any_llm_is_asked_by_provider_and_model(any_llm: Any) -> None:
    found = await report("any-llm:anthropic:claude-x", base_url="http://127.0.0.1:1")
    assert all_absent(found)
    assert (found.provider, found.model) == ("anthropic", "claude-x")
    call = any_llm.calls[0]
    assert (call["model"], call["api_base"]) == ("anthropic:claude-x", "http://127.0.0.1:1")
    assert call["response_format"]["type"] == "json_schema"


class RateLimitError(Exception):
    """As any-llm raises it: the library's error, with the SDK's inside."""

    status_code = 429

    def __init__(self) -> None:
        self.original_exception = ValueError("inner")
        self.original_exception.response = types.SimpleNamespace(  # type: ignore[attr-defined]
            headers={"Retry-After": "3"}
        )


async def test_errors_of_any_llm_are_understood(any_llm: Any) -> None:
    any_llm.error = RateLimitError()
    with pytest.raises(ModelError) as caught:
        await AnyLLMClient("anthropic:claude-x").complete(ASK)
    assert (caught.value.kind, caught.value.retry_after) == ("rate_limited", 3.0)


async def test_without_any_llm_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "any_llm", None)
    with pytest.raises(ModelError, match=r"mastwatch\[any-llm\]"):
        await AnyLLMClient("anthropic:claude-x").complete(ASK)


async def test_without_the_openai_sdk_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    found = await report("m", base_url="http://127.0.0.1:1/v1")
    assert {v.reason for v in found.verdicts.values()} == {"unreachable"}
    assert "mastwatch[openai]" in found.problems[0]


# LangChain.


def chat_model(*answers: Any) -> Any:
    pytest.importorskip("langchain_core", minversion="1.7")
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage

    def message(answer: Any) -> Any:
        return AIMessage(content=answer) if isinstance(answer, str) else answer

    return GenericFakeChatModel(messages=iter([message(a) for a in answers]))


async def test_a_chat_model_without_tools_is_asked_in_words() -> None:
    model = chat_model(json.dumps(VERDICTS))
    found = await report(model)
    assert all_absent(found)
    assert found.rung == "extract"
    assert found.provider == "generic-fake-chat-model"


def tool_model() -> Any:
    pytest.importorskip("langchain_core", minversion="1.7")
    from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
    from langchain_core.messages import AIMessage

    class ToolModel(FakeMessagesListChatModel):
        bound: Any = None

        def bind_tools(self, tools: Any, **options: Any) -> Any:
            type(self).bound = (tools, options)
            return self

    call = {"name": "verdicts", "args": VERDICTS, "id": "1", "type": "tool_call"}
    said = AIMessage(
        content="",
        tool_calls=[call],
        usage_metadata={"input_tokens": 12, "output_tokens": 34, "total_tokens": 46},
        response_metadata={"model_name": "fake-1", "finish_reason": "tool_calls"},
    )
    return ToolModel(responses=[said])


async def test_a_chat_model_with_tools_is_held_to_the_schema() -> None:
    found = await report(tool_model())
    assert all_absent(found)
    assert (found.rung, found.model) == ("json_schema", "fake-1")
    assert (found.usage.input_tokens, found.usage.output_tokens) == (12, 34)


async def test_the_tool_rung_of_a_chat_model() -> None:
    reply = await LangChainClient(tool_model()).complete(
        Ask(system="s", user="u", schema={"type": "object"}, rung="tool")
    )
    assert json.loads(reply.text) == VERDICTS


@pytest.mark.parametrize(
    ("metadata", "extra", "truncated", "refusal"),
    [
        ({"finish_reason": "length"}, {}, True, ""),
        ({"stop_reason": "max_tokens"}, {}, True, ""),
        ({"finish_reason": "SAFETY"}, {}, False, "safety"),
        ({}, {"refusal": "No."}, False, "No."),
    ],
)
async def test_why_a_chat_model_stopped(
    metadata: Any, extra: Any, truncated: bool, refusal: str
) -> None:
    pytest.importorskip("langchain_core", minversion="1.7")
    from langchain_core.messages import AIMessage

    parts: Any = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "{}"}]
    said = AIMessage(content=parts, response_metadata=metadata, additional_kwargs=extra)
    ask = Ask(system="s", user="u", schema={}, rung=RUNGS[-1])
    reply = await LangChainClient(chat_model(said)).complete(ask)
    assert (reply.text, reply.truncated, reply.refusal) == ("{}", truncated, refusal)


async def test_errors_of_a_chat_model_are_understood() -> None:
    pytest.importorskip("langchain_core", minversion="1.7")
    from langchain_core.exceptions import ContextOverflowError
    from langchain_core.language_models.fake_chat_models import FakeListChatModel

    class Overflowing(FakeListChatModel):
        def _call(self, *args: Any, **kwargs: Any) -> str:
            raise ContextOverflowError("maximum context length is 512 tokens")

    ask = Ask(system="s", user="u", schema={}, rung=RUNGS[-1])
    with pytest.raises(ModelError) as caught:
        await LangChainClient(Overflowing(responses=[""])).complete(ask)
    assert (caught.value.kind, caught.value.context_tokens) == ("context_overflow", 512)


# Nobody watches.


async def test_an_instrumented_chat_model_is_not_watched_while_it_judges() -> None:
    pytest.importorskip("langchain_core", minversion="1.7")
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from mastwatch.spans.emit import Emitter
    from mastwatch_instrumentations.langchain import LangChainInstrumentor

    events: list[Any] = []
    watch: Any = types.SimpleNamespace(
        observe=lambda event: events.append(event) or [], deliver=lambda event, verdicts: None
    )
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    instrumentor = LangChainInstrumentor()
    instrumentor.install(Emitter(watch=watch, tracer=provider.get_tracer("mastwatch")))
    try:
        answers = [json.dumps(VERDICTS)] * 2
        model = chat_model(*answers)
        assert all_absent(await report(model))
        assert (events, exporter.get_finished_spans()) == ([], ())
        await model.ainvoke("hello")  # the hook is alive: outside the judge it is seen
        assert events
    finally:
        instrumentor.uninstall()


async def test_the_suppression_reaches_functions_in_threads() -> None:
    seen: list[Any] = []

    def function(messages: Any, schema: Any) -> dict[str, Any]:
        seen.append(context.get_value("suppress_instrumentation"))
        return VERDICTS

    await report(function)
    assert seen == [True]
    assert context.get_value("suppress_instrumentation") is None


def test_every_known_word_for_suppression_is_set_and_taken_back() -> None:
    utils = pytest.importorskip("opentelemetry.instrumentation.utils")
    with untraced():
        assert not utils.is_instrumentation_enabled()
        assert not utils.is_http_instrumentation_enabled()
        assert context.get_value("suppress_language_model_instrumentation")
    assert utils.is_instrumentation_enabled()
    assert utils.is_http_instrumentation_enabled()


def test_util_genai_takes_the_call_for_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = types.ModuleType("opentelemetry.util.genai.invocation")
    module.CLIENT_INFERENCE_CONTEXT_KEY = "opentelemetry.genai.client.inference.context"
    module.InferenceData = type("InferenceData", (), {})
    monkeypatch.setitem(sys.modules, "opentelemetry.util.genai.invocation", module)
    with untraced():
        found = context.get_value(module.CLIENT_INFERENCE_CONTEXT_KEY)
        assert isinstance(found, module.InferenceData)
    assert context.get_value(module.CLIENT_INFERENCE_CONTEXT_KEY) is None


async def test_calls_under_way_together_are_suppressed_each_by_itself() -> None:
    async def one() -> Any:
        with untraced():
            await asyncio.sleep(0.001)
            return context.get_value("suppress_instrumentation")

    assert await asyncio.gather(*(one() for _ in range(3))) == [True] * 3
    assert context.get_value("suppress_instrumentation") is None
