"""Text of official instrumentors reaches us in-process; what they export does not change."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("openai")
pytest.importorskip("opentelemetry.instrumentation.genai.openai")

import openai
from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import mastwatch
from mastwatch import guard
from mastwatch.events import ModelCalled
from mastwatch.sink import Sink
from mastwatch.spans.foreign import texts
from mastwatch.spans.foreign.tap import CompletionHook, Tap
from mastwatch.testing import ScriptedModelServer

QUESTION = "How deep is the water over the bar?"
ANSWER = "The bar is four metres deep at low water."
VARIABLE = "OTEL_INSTRUMENTATION_GENAI_COMPLETION_HOOK"


class Genai(SpanProcessor):
    """The official instrumentor, and what is there to take when a span of its ends."""

    def __init__(self, reader: SpanProcessor | None = None) -> None:
        self.taken: list[Any] = []
        self.exported = InMemorySpanExporter()
        self.logged = InMemoryLogRecordExporter()
        traces, logs = TracerProvider(), LoggerProvider()
        traces.add_span_processor(reader or self)
        traces.add_span_processor(SimpleSpanProcessor(self.exported))
        logs.add_log_record_processor(SimpleLogRecordProcessor(self.logged))
        self.instrumentor = OpenAIInstrumentor()
        self.instrumentor.instrument(
            tracer_provider=traces, logger_provider=logs, skip_dep_check=True
        )

    def on_end(self, span: ReadableSpan) -> None:
        assert span.context is not None
        self.taken.append(texts.take(f"{span.context.span_id:016x}"))

    def ask(self, stream: bool = False) -> str:
        with ScriptedModelServer([ANSWER]) as server:
            client = openai.OpenAI(base_url=server.url, api_key="k", max_retries=0)
            messages: Any = [{"role": "user", "content": QUESTION}]
            answer = client.chat.completions.create(model="m", messages=messages)
        return str(answer.choices[0].message.content)

    @property
    def everything_exported(self) -> str:
        spans = [span.to_json() for span in self.exported.get_finished_spans()]
        return "".join([*spans, *map(str, self.logged.get_finished_logs())])


@pytest.fixture
def unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (VARIABLE, "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def genai(unset: None, tap: Tap) -> Iterator[Genai]:
    made = Genai()
    yield made
    made.instrumentor.uninstrument()


@pytest.fixture
def tap() -> Iterator[Tap]:
    made = Tap(lambda reason: None)
    made.start()
    yield made
    made.stop()


def said(genai: Genai) -> list[tuple[str, str]]:
    [taken] = genai.taken
    sides = ("gen_ai.input.messages", "gen_ai.output.messages")
    return [(m["role"], m["parts"][0]["content"]) for side in sides for m in taken[side]]


def test_text_arrives_and_none_is_exported(genai: Genai) -> None:
    assert genai.ask() == ANSWER
    assert said(genai) == [("user", QUESTION), ("assistant", ANSWER)]
    assert "chat m" in genai.everything_exported
    assert QUESTION not in genai.everything_exported
    assert ANSWER not in genai.everything_exported
    assert VARIABLE not in os.environ


def test_what_is_exported_is_the_same_without_us(genai: Genai, tap: Tap) -> None:
    genai.ask()
    tap.stop()
    genai.ask()
    first, second = genai.exported.get_finished_spans()
    assert (first.attributes or {}).keys() == (second.attributes or {}).keys()
    assert [taken is None for taken in genai.taken] == [False, True]


def test_a_handler_is_given_back_as_it_was(unset: None, tap: Tap) -> None:
    from opentelemetry.util.genai.handler import TelemetryHandler

    before = vars(TelemetryHandler)["should_capture_content"].__wrapped__
    handler = TelemetryHandler()
    assert not handler._capture_content
    assert handler.should_capture_content()
    tap.stop()
    assert not handler.should_capture_content()
    assert vars(TelemetryHandler)["should_capture_content"] is before


def test_the_user_s_variable_names_our_hook(
    unset: None, monkeypatch: pytest.MonkeyPatch, tap: Tap
) -> None:
    monkeypatch.setenv(VARIABLE, "mastwatch")
    genai = Genai()
    try:
        genai.ask()
    finally:
        genai.instrumentor.uninstrument()
    assert said(genai)[0] == ("user", QUESTION)


def test_a_hook_of_the_user_is_left_alone(unset: None, tap: Tap) -> None:
    class Theirs:
        calls = 0

        def on_completion(self, **_: Any) -> None:
            self.calls += 1

    theirs = Theirs()
    instrumentor = OpenAIInstrumentor()
    instrumentor.instrument(completion_hook=theirs, skip_dep_check=True)
    try:
        Genai.ask(None)  # type: ignore[arg-type]
    finally:
        instrumentor.uninstrument()
    assert theirs.calls == 1


def test_content_that_the_user_exports_stays_exported(
    unset: None, monkeypatch: pytest.MonkeyPatch, tap: Tap
) -> None:
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "SPAN_ONLY")
    genai = Genai()
    try:
        genai.ask()
    finally:
        genai.instrumentor.uninstrument()
    assert QUESTION in genai.everything_exported


def test_a_tool_s_arguments_and_result_arrive(tap: Tap) -> None:
    from opentelemetry.util.genai.handler import TelemetryHandler

    provider = TracerProvider()
    handler = TelemetryHandler(tracer_provider=provider)
    with handler.tool("read_page") as call:
        call.arguments = {"page": 4}
        call.tool_result = ANSWER
    taken = texts.take(f"{call.span.get_span_context().span_id:016x}")
    assert taken == {
        "gen_ai.tool.call.arguments": {"page": 4},
        "gen_ai.tool.call.result": ANSWER,
    }


def test_text_reaches_the_findings_and_no_exporter(unset: None) -> None:
    """An agent of the host's own, seen by the spans of the official instrumentor alone."""
    found: list[Any] = []
    seen: list[Any] = []
    with mastwatch.instrument(metrics="none", frameworks=[]) as handle:
        sink = Sink()
        sink.on_event = lambda event, framework: seen.append(event)  # type: ignore[method-assign]
        handle.add_sink(sink)
        mastwatch.on_finding(found.append)
        genai = Genai(mastwatch.span_processor())
        try:
            _loop()
        finally:
            genai.instrumentor.uninstrument()
    assert [event.text for event in seen if isinstance(event, ModelCalled)][-1] == ANSWER
    assert "FM-1.3" in {finding.mode for finding in found}
    exported = genai.everything_exported
    assert all(text not in exported for text in (QUESTION, ANSWER, SAME))


SAME = "Let me look at the page about the bar again."


def _loop() -> None:
    """Say the same thing over and over, then answer."""
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    with mastwatch.run("voyage"), ScriptedModelServer([*[SAME] * 6, ANSWER]) as server:
        client = openai.OpenAI(base_url=server.url, api_key="k", max_retries=0)
        for _ in range(7):
            answer = client.chat.completions.create(model="m", messages=messages)
            messages.append(answer.choices[0].message.model_dump(exclude_none=True))
            messages.append({"role": "user", "content": "Go on, please."})


def test_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    lost: list[str] = []
    texts.put("0", {"said": "nobody listens"})
    texts.listen(lost.append)
    try:
        assert texts.take("0") is None
        monkeypatch.setattr(texts, "MAX_SPANS", 2)
        for n in range(4):
            texts.put(str(n), {"said": "x" * 10, "empty": []})
        assert (texts.take("1"), texts.take("3")) == (None, {"said": "x" * 10})
        monkeypatch.setattr(texts, "MAX_CHARS", 5)
        texts.put("5", {"said": "x" * 10})
        assert texts.take("5") is None
        monkeypatch.setattr(texts, "SECONDS", -1.0)
        texts.put("6", {"said": "x"})
        texts.put("7", {"said": "x"})
        assert texts.take("6") is None
        assert lost == ["texts_full"] * 5
    finally:
        texts.stop()
    assert texts._chars == 0


def test_odd_values_are_no_text() -> None:
    texts.listen(lambda reason: None)
    try:
        loop: list[Any] = []
        loop.append(loop)
        texts.put("a", {"said": [b"image", object(), 3, loop, {"k": ("v",)}]})
        taken = texts.take("a")
        assert taken is not None
        assert json.dumps(taken["said"][:3]) == "[null, null, 3]"
        assert taken["said"][4] == {"k": ["v"]}
    finally:
        texts.stop()


def test_an_error_of_ours_stays_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MASTWATCH_RAISE_ERRORS")
    hook: Any = CompletionHook()
    texts.listen(lambda reason: None)
    try:
        hook.on_completion(inputs=[], outputs=[], system_instruction=[], span=object())
    finally:
        texts.stop()
    assert guard.counts()["tap"] == 1
    guard.reset()
