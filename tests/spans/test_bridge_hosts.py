"""The bridge beside providers, hooks and habits of all sorts of hosts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.util.types import Attributes

from mastwatch.events import ModelCalled, RunFinished, RunStarted
from mastwatch.findings import Finding, Severity
from mastwatch.spans.bridge import Processor
from mastwatch.spans.bridging import opened, order
from mastwatch.spans.core import firing
from mastwatch.spans.dialects.genai import DIALECT as GENAI
from mastwatch.spans.run import Run
from spans.bench import GENAI_AGENTS, GENAI_OPENAI, OI_LANGCHAIN, Bench, oi_chat, output


@dataclass
class Standing(trace.TracerProvider):
    """One that stands before another, and cannot be hashed: as Logfire's."""

    provider: TracerProvider

    def get_tracer(
        self,
        instrumenting_module_name: str,
        instrumenting_library_version: str | None = None,
        schema_url: str | None = None,
        attributes: Attributes = None,
    ) -> trace.Tracer:
        return self.provider.get_tracer(instrumenting_module_name)

    def add_span_processor(self, processor: Any) -> None:
        self.provider.add_span_processor(processor)

    def set_provider(self, provider: TracerProvider) -> None:
        self.provider = provider


@pytest.fixture
def standing(monkeypatch: pytest.MonkeyPatch) -> Standing:
    """The global provider is one of these."""
    provider = Standing(TracerProvider())
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    return provider


def processors(provider: TracerProvider) -> int:
    return len(provider._active_span_processor._span_processors)


def test_a_provider_that_stands_before_others_is_followed(standing: Standing) -> None:
    processor, first, second = Processor(), standing.provider, TracerProvider()
    for _ in range(2):
        processor.seats.follow()
        standing.set_provider(second)  # the host configures its tracing again
        assert (processors(first), processors(second)) == (1, 1)
        processor.seats.leave()
        assert (processors(first), processors(second)) == (0, 0)
        standing.set_provider(first)
        assert processors(first) == 0


def test_a_run_of_a_hook_in_a_tool_that_is_read_is_a_branch(bench: Bench) -> None:
    emitter = bench.recording.emitter
    with bench.genai("invoke_agent", "planner"):
        assert emitter.current() is None, "outside of tools its own spans tell"
        bench.chat("", "ask")
        with bench.genai("execute_tool", "ask") as tool:
            run = emitter.start_run("desk", framework="langchain")
            turn = run.turn("clerk")
            run.message("clerk", "Seven.", carriers=(turn,))
            turn.end()
            run.finish("completed")
            scope = emitter.current()
            assert scope is emitter.current()
            assert scope is not None
            assert scope.turn_id, "a thread of its own"
        bench.chat("Seven, they say.")
    starts = [(event.name, event.branch) for event in bench.recording.of(RunStarted)]
    assert starts == [("planner", ""), ("desk", "1")]
    assert [end.branch for end in bench.recording.of(RunFinished)] == ["1", ""]
    spans = bench.recording.spans
    assert [span.name for span in spans] == ["invoke_agent clerk"], "nobody else traces that one"
    assert spans[0].parent is not None
    assert spans[0].parent.span_id == tool.get_span_context().span_id


def test_a_bare_call_in_a_tool_that_is_read_is_nobody_s_utterance(bench: Bench) -> None:
    with bench.genai("invoke_agent", "planner"):
        bench.chat("", "sum_up")
        with bench.genai("execute_tool", "sum_up"):
            call = bench.recording.emitter.histories.begin((), framework="openai")
            call.answered("In short: seven.")
        bench.chat("Seven.")
    assert [text for _, text in bench.recording.said] == ["", "Seven."]
    assert len(bench.recording.of(RunStarted)) == 1


def test_whoever_is_current_while_a_run_is_told_is_not_around_it(bench: Bench) -> None:
    apart = bench.tracer(GENAI_AGENTS).start_span(
        "invoke_agent poet",
        Context(),
        attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "poet"},
    )
    with bench.genai("invoke_agent", "planner"):
        bench.chat("", "ask")
        with bench.genai("execute_tool", "ask"):
            with trace.use_span(apart):
                said = bench.tracer(GENAI_AGENTS).start_span(
                    "chat", attributes={"gen_ai.operation.name": "chat", **output("A poem.")}
                )
            said.end()
            apart.end()
    starts = [(event.name, event.branch) for event in bench.recording.of(RunStarted)]
    assert starts == [("planner", ""), ("poet", "")]


def test_a_library_is_traced_by_others_only_where_it_is(bench: Bench) -> None:
    emitter = bench.recording.emitter
    around = emitter.start_run("team", framework="agentchat", spans=False)
    made: list[Run] = [
        emitter.start_run("inner", framework=framework, parent=around)
        for framework in ("agentchat", "langchain")
    ]
    assert [run.spans for run in made] == [False, True]


def test_tools_of_bare_calls_are_told_by_their_histories(bench: Bench) -> None:
    """A request that holds tool calls and their results goes on with the run that asked."""
    sent: list[Any] = [{"role": "user", "parts": [{"type": "text", "content": "Where is A-17?"}]}]
    for number in range(3):
        asked = {"type": "tool_call", "id": f"c{number}", "name": "look", "arguments": {"n": 1}}
        said = {"role": "assistant", "parts": [asked]}
        request = {"gen_ai.input.messages": json.dumps(sent)}
        answer = {"gen_ai.output.messages": json.dumps([said])}
        with bench.genai("chat", "m", GENAI_OPENAI, **request, **answer):
            pass
        result = {"type": "tool_call_response", "id": f"c{number}", "response": "not found"}
        sent = [*sent, said, {"role": "tool", "parts": [result]}]
    bench.chat("It is lost.", scope=GENAI_OPENAI, **{"gen_ai.input.messages": json.dumps(sent)})
    assert len(bench.recording.of(RunStarted)) == 1
    assert bench.recording.tools == [("assistant", "look", {"n": 1})] * 3
    assert [result[1] for result in bench.recording.results] == ["not found"] * 3


def test_a_span_that_never_ends_keeps_others_waiting_only_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = bench.tracer(OI_LANGCHAIN).start_span("a stream that nobody reads")
    bench.chat("One.", scope=GENAI_OPENAI)
    assert bench.recording.said == []
    monkeypatch.setattr(order, "MAX_WAIT", -1.0)
    bench.chat("Two.", scope=GENAI_OPENAI)
    monkeypatch.undo()
    bench.chat("Three.", scope=GENAI_OPENAI)
    assert [text for _, text in bench.recording.said] == ["One.", "Two.", "Three."]
    lost.end()


def test_what_waits_is_bounded(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "MAX_HELD", 3)
    lost = [bench.tracer(OI_LANGCHAIN).start_span("lost") for _ in range(2)]
    for number in range(opened.MAX_WAITING + 10):
        for span in bench.bridge.listener._open.all():
            span.vain = False  # as if each had only just begun
        bench.chat(f"Answer {number}.", scope=GENAI_OPENAI)
    assert len(bench.bridge.listener._order._held) == 3
    kept = [len(span.waiting) for span in bench.bridge.listener._open.all()]
    assert kept == [opened.MAX_WAITING] * 2
    assert len(bench.recording.said) == opened.MAX_WAITING + 10 - 3
    for span in lost:
        span.end()
    assert len(bench.recording.said) == opened.MAX_WAITING + 10, "all are told in the end"


def test_a_step_takes_as_long_as_its_span_whenever_it_is_told(bench: Bench) -> None:
    second = 1_000_000_000
    with bench.tracer(OI_LANGCHAIN).start_as_current_span("node"):
        attributes = {"gen_ai.operation.name": "chat", **output("One.")}
        call = bench.tracer(GENAI_OPENAI).start_span("chat", attributes=attributes)
        started = call.start_time  # type: ignore[attr-defined]
        call.end(started + 7 * second)
        back = bench.tracer(GENAI_OPENAI).start_span("chat", attributes=attributes)
        back.end(started - 60 * second)  # the clock was set back
    seconds = [event.seconds for event in bench.recording.of(ModelCalled)]
    assert seconds == pytest.approx([7.0, 0.0], abs=0.5)


def test_spans_of_the_shared_helpers_tell_of_no_library() -> None:
    assert GENAI.library("opentelemetry.util.genai.handler") == "genai"
    assert GENAI.library("opentelemetry.instrumentation.openai_v2") == "openai"


def test_a_span_whose_agent_has_no_name_carries_what_is_said(bench: Bench) -> None:
    run = bench.recording.emitter.start_run("team", framework="agentchat", spans=False)
    with bench.provider.get_tracer("theirs").start_as_current_span("turn") as theirs:
        theirs.set_attribute("gen_ai.agent.name", "unknown")
        run.message("clerk", "Seven.")
    assert theirs.attributes["mastwatch.message.index"] == 0  # type: ignore[attr-defined]


def test_what_a_message_leads_to_stands_on_a_span_that_is_open(bench: Bench) -> None:
    fired: list[trace.Span] = []
    bench.recording.deliver = lambda *_: fired.append(firing.span)  # type: ignore[method-assign]
    with bench.genai("invoke_agent", "clerk") as turn:
        bench.chat("Here.")
    assert fired[:3] == [turn, turn, turn]


def test_where_no_span_is_open_a_finding_is_logged_as_of_the_one_that_told(bench: Bench) -> None:
    fired: list[trace.SpanContext] = []
    bench.recording.deliver = lambda *_: fired.append(firing.span.get_span_context())  # type: ignore[method-assign]
    with bench.genai("chat", "m", GENAI_OPENAI, **output("Here.")) as call:
        pass
    assert fired == [call.get_span_context()] * 3


def test_findings_have_a_span_where_the_other_producer_leaves_none_current(bench: Bench) -> None:
    recording = bench.recording
    run = recording.emitter.start_run("team", framework="langchain", spans=False)
    call = run.tool_call("look", agent="clerk")
    assert recording.spans == []
    found = Finding(
        detector="d", mode="FM-1.3", severity=Severity.WARN, run_id=run.id, agent="clerk",
        message_index=1, explanation="again", evidence=(1,), fingerprint="f",
    )  # fmt: skip
    written: list[trace.Span] = []

    def deliver(_: object, verdicts: Any) -> None:
        for verdict in verdicts or ():
            written.append(firing.span)
            recording.emitter.write_verdict(verdict)

    recording.deliver = deliver  # type: ignore[method-assign]
    recording.observe = lambda event: [found]  # type: ignore[method-assign]
    call.returned("not found")
    (short,) = recording.spans
    assert short.name == "agent_message clerk"
    assert [event.name for event in short.events] == ["mastwatch.finding"]
    assert "mastwatch.message.index" not in (short.attributes or {})


def test_a_model_call_counts_though_its_history_crowds_out_its_kind(bench: Bench) -> None:
    """The SDK keeps 128 attributes of a span: OpenInference has two for each message."""
    with bench.tracer(OI_LANGCHAIN).start_as_current_span("clerk") as root:
        with bench.tracer(OI_LANGCHAIN).start_as_current_span("Model") as call:
            call.set_attribute("openinference.span.kind", "LLM")
            for number in range(100):
                key = f"llm.input_messages.{number}.message"
                call.set_attributes({f"{key}.role": "user", f"{key}.content": f"Line {number}."})
            call.set_attributes({k: v for k, v in oi_chat("Here.").items() if k.startswith("llm.")})
        root.set_attribute("openinference.span.kind", "CHAIN")
    assert bench.recording.said == [("clerk", "Here.")]


def test_what_is_held_back_of_a_span_stays_with_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A listener of the host's ends spans of its own while one with held content ends."""
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", bench.provider)
    ended: list[str] = []

    class Host(SpanProcessor):
        def on_end(self, span: ReadableSpan) -> None:
            if span.name == "chat first":
                bench.chat("", "look")  # withholds nothing, and says nothing
            ended.append(span.name)

    provider = bench.provider
    first = provider._active_span_processor._span_processors
    provider._active_span_processor._span_processors = (Host(), *first)
    with bench.genai("invoke_agent", "clerk"):
        tracer = bench.bridge.withheld().get_tracer(GENAI_AGENTS)
        said = {"gen_ai.operation.name": "chat", **output("A secret.")}
        with tracer.start_as_current_span("chat first", attributes=said) as span:
            pass
    assert ended[:2] == ["chat m", "chat first"]
    assert sorted(text or "" for _, text in bench.recording.said) == ["", "A secret."]
    assert "gen_ai.output.messages" not in span.attributes  # type: ignore[attr-defined]
