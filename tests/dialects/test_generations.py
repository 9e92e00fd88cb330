"""Older and rarer ways to write the same, which the recordings of today's libraries do not show."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from mastwatch.events import ToolRequest
from mastwatch.spans.dialects import _messages as chat
from mastwatch.spans.dialects import by_attributes, by_scope, dialects
from mastwatch.spans.foreign.span import ForeignSpan, SpanEvent
from mastwatch.spans.foreign.step import Answer, Step
from mastwatch.spans.histories import HistoryMessage

OPENLLMETRY = "opentelemetry.instrumentation.openai.v1"
OPENINFERENCE = "openinference.instrumentation.openai"
GENAI = "opentelemetry.instrumentation.genai.openai"
CALL = ToolRequest(name="search", arguments={"q": "Faro"}, call_id="c1")


def read(scope: str, name: str = "span", **more: Any) -> Step:
    attributes = more.pop("attributes")
    span = ForeignSpan(
        trace_id="1", span_id="2", name=name, scope=scope, attributes=attributes, **more
    )
    dialect = by_scope(scope, "1") or by_attributes(scope, "1", attributes)
    assert dialect is not None
    step = dialect.read(span)
    assert step is not None
    return step


def test_the_legacy_keys_of_openllmetry() -> None:
    step = read(
        OPENLLMETRY,
        "openai.chat",
        attributes={
            "llm.request.type": "chat",
            "gen_ai.system": "OpenAI",
            "gen_ai.request.model": "gpt-4o",
            "gen_ai.prompt.0.role": "system",
            "gen_ai.prompt.0.content": "Be kind.",
            "gen_ai.prompt.1.role": "user",
            "gen_ai.prompt.1.content": '[{"type": "text", "text": "Ferries?"}]',
            "gen_ai.completion.0.role": "assistant",
            "gen_ai.completion.0.finish_reason": "tool_calls",
            "gen_ai.completion.0.tool_calls.0.id": "c1",
            "gen_ai.completion.0.tool_calls.0.name": "search",
            "gen_ai.completion.0.tool_calls.0.arguments": '{"q": "Faro"}',
            "gen_ai.usage.prompt_tokens": 5,
            "gen_ai.usage.completion_tokens": 3,
        },
    )
    assert step.request == (
        HistoryMessage(role="system", content="Be kind."),
        HistoryMessage(role="user", content="Ferries?"),
    )
    assert step.answer == Answer(text="", tool_calls=(CALL,))
    assert (step.model, step.provider) == ("gpt-4o", "OpenAI")
    assert (step.input_tokens, step.output_tokens) == (5, 3)


def test_what_openllmetry_wraps_around_a_tool_s_arguments_is_taken_off() -> None:
    for given in ({"inputs": {"q": "Faro"}}, {"input_str": "{'q': 'Faro'}"}, {"q": "Faro"}):
        wrapped = {**given, **({"metadata": {"langgraph_step": 7}} if "q" not in given else {})}
        step = read(
            "opentelemetry.instrumentation.langchain",
            "execute_tool search",
            attributes={
                "traceloop.span.kind": "tool",
                "traceloop.entity.name": "search",
                "traceloop.entity.input": json.dumps(wrapped),
            },
        )
        assert (step.name, step.arguments) == ("search", {"q": "Faro"})


def test_a_decorated_agent_of_traceloop() -> None:
    step = read(
        "my.app", attributes={"traceloop.span.kind": "agent", "traceloop.entity.name": "clerk"}
    )
    assert (step.op, step.agent) == ("agent", "clerk")


def test_the_content_blocks_and_calls_of_openinference() -> None:
    step = read(
        OPENINFERENCE,
        attributes={
            "openinference.span.kind": "LLM",
            "llm.provider": "azure",
            "llm.system": "openai",
            "llm.input_messages.10.message.role": "user",
            "llm.input_messages.10.message.content": "last",
            "llm.input_messages.2.message.role": "user",
            "llm.input_messages.2.message.contents.0.message_content.type": "text",
            "llm.input_messages.2.message.contents.0.message_content.text": "first",
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c1",
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "search",
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": (
                '{"q": "Faro"}'
            ),
        },
    )
    assert step.request is not None
    assert [message.content for message in step.request] == ["first", "last"]
    assert step.answer == Answer(text="", tool_calls=(CALL,))
    assert step.provider == "azure.ai.openai"


def test_completions_of_openinference() -> None:
    step = read(
        OPENINFERENCE,
        attributes={
            "openinference.span.kind": "LLM",
            "llm.prompts.0.prompt.text": "Once upon",
            "llm.choices.0.completion.text": " a time",
        },
    )
    assert step.request == (HistoryMessage(role="user", content="Once upon"),)
    assert step.answer == Answer(text=" a time")


def test_of_two_ways_on_one_span_the_conventions_come_first() -> None:
    step = read(
        OPENINFERENCE,
        attributes={
            "openinference.span.kind": "LLM",
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "gpt-new",
            "llm.model_name": "gpt-old",
            "llm.token_count.prompt": 5,
        },
    )
    assert (step.model, step.input_tokens) == ("gpt-new", 5)


@pytest.mark.parametrize("redacted", ["__REDACTED__", "unknown", ""])
def test_what_stands_for_a_missing_value_is_missing(redacted: str) -> None:
    tool = read(
        OPENINFERENCE,
        attributes={
            "openinference.span.kind": "TOOL",
            "tool.name": "search",
            "agent.name": redacted,
            "input.value": redacted,
            "output.value": redacted,
        },
    )
    assert (tool.agent, tool.arguments, tool.result) == (None, None, None)


def test_redacted_text_in_messages_is_withheld_not_equal() -> None:
    said = {"role": "assistant", "parts": [{"type": "text", "content": "__REDACTED__"}]}
    step = read(
        GENAI,
        attributes={"gen_ai.operation.name": "chat", "gen_ai.output.messages": json.dumps([said])},
    )
    assert step.answer == Answer(text=None)
    hidden = chat.messages([{"role": "assistant", "parts": [{"type": "text"}]}])
    assert hidden is not None
    assert hidden[0].text is None


@pytest.mark.parametrize("form", [json.dumps, list, tuple])
def test_messages_come_as_json_or_as_a_sequence_in_either_shape(form: Any) -> None:
    parts = [
        {"role": "user", "parts": [{"type": "text", "content": "Ferries?"}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "7"}]},
    ]
    plain = [
        {"role": "user", "content": "Ferries?"},
        {"role": "tool", "tool_call_id": "c1", "content": "7"},
    ]
    expected = (
        HistoryMessage(role="user", content="Ferries?"),
        HistoryMessage(role="tool", content="7", call_id="c1"),
    )
    for messages in (parts, plain):
        assert chat.request(chat.messages(form(messages))) == expected


@pytest.mark.parametrize(
    ("attributes", "description", "events", "expected"),
    [
        ({"error.type": "ValueError"}, "", [], ("ValueError", None)),
        ({"error.type": "_OTHER"}, "abandoned stream", [], (None, "abandoned")),
        ({"error.type": "GeneratorExit"}, "", [], (None, "abandoned")),
        ({}, "", ["GeneratorExit"], (None, "abandoned")),
        ({}, "ValueError('x')", [], ("ValueError", None)),
        ({}, "", ["asyncio.exceptions.CancelledError"], (None, "cancelled")),
        ({}, "", ["langgraph.errors.ParentCommand"], (None, None)),
        ({}, "", ["langgraph.errors.GraphInterrupt"], (None, "paused")),
        ({}, "something odd", [], ("_OTHER", None)),
    ],
)
def test_endings(
    attributes: dict[str, str], description: str, events: list[str], expected: tuple[Any, Any]
) -> None:
    step = read(
        GENAI,
        attributes={"gen_ai.operation.name": "invoke_agent", **attributes},
        failed=True,
        description=description,
        events=[SpanEvent("exception", {"exception.type": kind}) for kind in events],
    )
    assert (step.error, step.outcome) == expected


def test_odd_values_under_every_key_a_dialect_knows_never_raise() -> None:
    chance = random.Random(7)
    keys = [
        "gen_ai.operation.name", "gen_ai.input.messages", "gen_ai.output.messages",
        "gen_ai.system_instructions", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result",
        "gen_ai.prompt.0.role", "gen_ai.prompt.0", "gen_ai.prompt.0.tool_calls.0.name",
        "gen_ai.completion.0.content", "llm.request.type", "traceloop.span.kind",
        "traceloop.entity.input", "traceloop.entity.output", "openinference.span.kind", "metadata",
        "llm.input_messages.0.message.role", "llm.input_messages.0.message.tool_calls.0",
        "llm.input_messages.x.message", "llm.output_messages.0.message.contents.0.message_content",
        "llm.prompts", "llm.choices.0.completion.text", "input.value", "output.value", "tool.name",
        "ag2.recipient.name", "ag2.sender.name", "llm.token_count.prompt", "error.type",
    ]  # fmt: skip
    values: list[Any] = [
        "", "chat", "execute_tool", "invoke_agent", "LLM", "TOOL", "AGENT", "CHAIN", "tool", "{",
        "[" * 3000, "[[1]]", '{"messages": 3}', '[{"role": "user", "parts": 3}]', "null", "NaN",
        '{"output": {"kwargs": {"tool_call_id": 3, "content": [1]}}}', "[true, {}]", 0, -1.5,
        float("nan"), float("inf"), True, None, (), ("a", 1), [None], {"a": object()}, b"x",
    ]  # fmt: skip
    for _ in range(4_000):
        attributes = {key: chance.choice(values) for key in chance.sample(keys, 8)}
        span = ForeignSpan(
            trace_id="1",
            span_id="2",
            name=chance.choice(["", "a b", "x.chat"]),
            attributes=attributes,
        )
        for dialect in dialects():
            dialect.claims("x", "", attributes)
            dialect.opening(span.name, attributes)
            dialect.read(span)
