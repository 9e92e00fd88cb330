"""Spans and Events of one run: who carries what, and who is whose parent."""

from __future__ import annotations

import asyncio
import threading

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from mastwatch.events import (
    MessageSent,
    RunFinished,
    RunStarted,
    ToolCalled,
    ToolRequest,
    ToolReturned,
)
from mastwatch.findings import Finding, Severity
from mastwatch.spans import semconv
from mastwatch.spans.content import ContentPolicy
from mastwatch.spans.emit import Emitter


class Recorder:
    """Takes the watch's place: keeps events, and answers with the verdicts it was given."""

    def __init__(self) -> None:
        self.events = []
        self.emitter = None
        self.verdict_at = None

    def observe(self, event):
        self.events.append(event)
        if isinstance(event, MessageSent) and event.index == self.verdict_at:
            return [finding(event.run_id, event.index)]
        return []

    def deliver(self, event, verdicts):
        for verdict in verdicts or ():
            self.emitter.write_verdict(verdict)

    def of(self, kind):
        return [e for e in self.events if isinstance(e, kind)]


def finding(run_id: str, index: int) -> Finding:
    return Finding(
        mode="FM-1.3", severity=Severity.WARN, detector="d", run_id=run_id, agent="A",
        message_index=index, evidence=(0, index), explanation="A did it twice",
        fingerprint="f", episode="f-1",
    )  # fmt: skip


class Bench:
    def __init__(self, sampler=None, content=None) -> None:
        self.exporter = InMemorySpanExporter()
        provider = TracerProvider(sampler=sampler) if sampler else TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracer = provider.get_tracer("mastwatch")
        self.watch = Recorder()
        self.emitter = Emitter(self.watch, self.tracer, content)
        self.watch.emitter = self.emitter

    def start(self, name="chat", **more):
        return self.emitter.start_run(name, framework="test", **more)

    @property
    def spans(self):
        return {s.name: s for s in self.exporter.get_finished_spans()}

    def carriers(self):
        return {
            s.attributes[semconv.MESSAGE_INDEX]: s.name
            for s in self.exporter.get_finished_spans()
            if semconv.MESSAGE_INDEX in s.attributes
        }


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_one_utterance_one_span_and_the_first_free_carrier_has_it(bench) -> None:
    run = bench.start()
    turn = run.turn("Coder")
    call = run.model_call(agent="Coder", model="m", parent=turn)
    run.message("Coder", "", tool_calls=[ToolRequest(name="t")], carriers=(call,))
    call.end()
    tool = run.tool_call("t", {"a": 1}, agent="Coder", parent=turn)
    tool.returned("42")
    run.message("Coder", "done", carriers=(turn,))
    run.message("Coder", "one more", carriers=(turn,))
    turn.end()
    run.finish("completed", "said so")
    assert bench.carriers() == {0: "chat m", 2: "invoke_agent Coder", 3: "agent_message Coder"}
    assert [e.index for e in bench.watch.of(ToolReturned)] == [1]


def test_parents_are_explicit_and_all_in_one_trace(bench) -> None:
    run = bench.start()
    turn = run.turn("A")
    run.tool_call("t", agent="A", parent=turn).returned("x")
    run.message("A", "x", carriers=(turn,))
    turn.end()
    run.finish("completed")
    spans = bench.spans
    assert len({s.context.trace_id for s in spans.values()}) == 1
    assert spans["execute_tool t"].parent.span_id == spans["invoke_agent A"].context.span_id
    assert spans["invoke_agent A"].parent.span_id == spans["invoke_workflow chat"].context.span_id
    assert {s.attributes[semconv.RUN_ID] for s in spans.values()} == {run.id}


def test_the_runs_span_tells_how_it_ended(bench) -> None:
    bench.watch.verdict_at = 0
    run = bench.start()
    run.message("A", "hello", carriers=())
    run.finish("limit", "Maximum rounds (10) reached")
    span = bench.spans["invoke_workflow chat"]
    assert span.attributes[semconv.TERMINATION_REASON] == "Maximum rounds (10) reached"
    assert span.attributes[semconv.RUN_MAX_SEVERITY] == "warn"
    assert run.finished


def test_a_finding_is_an_event_of_the_span_where_it_fired(bench) -> None:
    bench.watch.verdict_at = 1
    run = bench.start()
    run.message("A", "one")
    run.message("B", "two")
    run.finish("completed")
    [event] = bench.spans["agent_message B"].events
    assert event.name == "mastwatch.finding"
    said = {k.removeprefix("mastwatch.finding."): v for k, v in event.attributes.items()}
    assert said == {
        "mode": "FM-1.3", "slug": "step_repetition", "severity": "warn", "detector": "d",
        "score": 0.75, "agent": "A", "message_index": 1, "evidence": (0, 1),
        "explanation": "A did it twice", "fingerprint": "f", "episode": "f-1",
    }  # fmt: skip


def test_sampling_never_blinds_the_detectors() -> None:
    bench = Bench(sampler=ALWAYS_OFF)
    run = bench.start()
    run.message("A", "one")
    run.finish("completed")
    assert bench.exporter.get_finished_spans() == ()
    assert len(bench.watch.of(MessageSent)) == 1


def test_no_text_on_spans_unless_asked_for(bench) -> None:
    secret = "the quick brown customer record 4711"
    capturing = Bench(content=ContentPolicy(capture=True))
    for one, shown in ((bench, False), (capturing, True)):
        run = one.start(task=secret)
        run.message("A", secret, tool_calls=[ToolRequest(name="t", arguments={"q": secret})])
        run.tool_call("t", {"q": secret}, agent="A").returned(secret, error=ValueError(secret))
        run.finish("error", error=RuntimeError(secret))
        dump = "".join(s.to_json() for s in one.exporter.get_finished_spans())
        assert (secret in dump) is shown


def test_captured_text_is_redacted_then_cut() -> None:
    policy = ContentPolicy(capture=True, redact=lambda text: text.replace("Ann", "[name]"))
    bench = Bench(content=policy)
    run = bench.start()
    run.message("A", "Ann uses sk-abcdefghijklmnop1234 " + "x" * 20_000)
    run.finish("completed")
    span = bench.spans["agent_message A"]
    shown = span.attributes[semconv.OUTPUT_MESSAGES]
    assert "[name] uses [redacted]" in shown
    assert len(shown) < 9_000
    assert span.attributes[semconv.MESSAGE_TRUNCATED] is True
    assert span.attributes[semconv.MESSAGE_LENGTH] == 20_033


def test_a_redaction_that_fails_lets_nothing_out_and_costs_no_event(monkeypatch) -> None:
    monkeypatch.delenv("MASTWATCH_RAISE_ERRORS")
    bench = Bench(content=ContentPolicy(capture=True, redact=lambda text: text[9_999]))
    bench.watch.verdict_at = 0
    run = bench.start()
    run.message("A", "my secret")
    run.finish("completed")
    span = bench.spans["agent_message A"]
    assert "[redaction failed]" in span.attributes[semconv.OUTPUT_MESSAGES]
    assert "secret" not in span.to_json()
    assert [e.name for e in span.events] == ["mastwatch.finding"]


def test_a_run_inside_a_run_is_a_branch_of_it(bench) -> None:
    outer = bench.start("outer")
    outer.message("A", "one")
    with outer.attached():
        inner = bench.start("inner")
        inner.message("B", "two")
        inner.finish("completed")
    outer.message("A", "three")
    outer.finish("completed")
    assert inner.id == outer.id
    assert [(e.index, e.branch) for e in bench.watch.of(MessageSent)] == [
        (0, ""),
        (1, "1"),
        (2, ""),
    ]
    assert [s for s in bench.spans if s.startswith("invoke_workflow")] == ["invoke_workflow outer"]


def test_a_run_of_the_hosts_own_says_how_what_ran_in_it_ended(bench) -> None:
    outer = bench.start("outer")
    with outer.attached():
        bench.start("inner").finish("limit", "Maximum turns (3) reached")
    outer.finish("completed")
    span = bench.spans["invoke_workflow outer"]
    assert span.attributes[semconv.TERMINATION_REASON] == "Maximum turns (3) reached"
    assert span.attributes[semconv.RUN_OUTCOME] == "completed"


def test_a_run_goes_into_the_trace_that_is_going_on(bench) -> None:
    with bench.tracer.start_as_current_span("GET /chat") as request:
        run = bench.start()
        run.message("A", "one")
        run.finish("completed")
    assert bench.spans["invoke_workflow chat"].parent.span_id == request.get_span_context().span_id


def test_a_paused_run_is_resumed_by_its_conversation(bench) -> None:
    first = bench.start(conversation_id="c1")
    first.message("A", "may I?")
    first.finish("paused", "interrupt")
    other = bench.start(conversation_id="c2", resume=True)
    second = bench.start(conversation_id="c1", resume=True)
    index = second.message("A", "I did")
    second.finish("completed")
    assert (second.id, index) == (first.id, 1)
    assert other.id != first.id
    assert [e.resumed for e in bench.watch.of(RunStarted)] == [False, False, True]
    traces = {s.context.trace_id for s in bench.exporter.get_finished_spans()}
    assert len(traces) == 1


def test_new_input_ends_the_paused_run_of_its_conversation(bench) -> None:
    first = bench.start(conversation_id="c1")
    first.finish("paused", "interrupt")
    second = bench.start(conversation_id="c1")
    third = bench.start(conversation_id="c1", resume=True)
    ends = [(e.run_id, e.outcome) for e in bench.watch.of(RunFinished)]
    assert ends == [(first.id, "paused"), (first.id, "abandoned")]
    assert len({first.id, second.id, third.id}) == 3


def test_where_others_trace_we_open_no_span_and_use_theirs(bench) -> None:
    with bench.tracer.start_as_current_span("theirs"):
        run = bench.start(spans=False)
        turn = run.turn("A")
        run.message("A", "one", carriers=(turn,))
        run.message("A", "two", carriers=(turn,))
        run.tool_call("t", agent="A", parent=turn).returned("x")
        turn.end()
        run.finish("completed")
    assert bench.carriers() == {0: "theirs", 1: "agent_message A"}
    assert set(bench.spans) == {"theirs", "agent_message A"}


def test_ends_and_returns_count_once(bench) -> None:
    run = bench.start()
    tool = run.tool_call("t", agent="A")
    assert tool.returned("x") == 0
    assert tool.returned("y") is None
    run.finish("completed")
    run.finish("error")
    assert len(bench.exporter.get_finished_spans()) == 2
    assert bench.spans["invoke_workflow chat"].attributes[semconv.RUN_OUTCOME] == "completed"


def test_a_failed_tool_says_its_type_only(bench) -> None:
    run = bench.start()
    run.tool_call("t", agent="A").returned(error=TimeoutError("host 10.0.0.1"))
    run.finish("completed")
    span = bench.spans["execute_tool t"]
    assert span.attributes["error.type"] == "TimeoutError"
    assert "10.0.0.1" not in span.to_json()
    assert bench.watch.of(ToolReturned)[0].error == "TimeoutError"


def test_rows_stay_in_order_when_tools_return_in_threads(bench) -> None:
    run = bench.start()
    calls = [run.tool_call("t", i, agent="A") for i in range(40)]
    threads = [threading.Thread(target=call.returned, args=("x",)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [e.index for e in bench.watch.of(ToolReturned)] == list(range(40))
    assert len({e.id for e in bench.watch.of(ToolCalled)}) == 40


async def test_tasks_keep_their_runs_apart(bench) -> None:
    async def one(name: str) -> None:
        run = bench.start(name)
        with run.attached():
            await asyncio.sleep(0)
            assert bench.emitter.current() is run
            bench.emitter.current().run.message(name, "hi")
            await asyncio.sleep(0)
        run.finish("completed")

    await asyncio.gather(*(one(f"r{i}") for i in range(20)))
    assert bench.emitter.current() is None
    assert trace.get_current_span() is trace.INVALID_SPAN
    assert all(e.index == 0 for e in bench.watch.of(MessageSent))


def test_a_branch_traced_by_others_opens_no_span_though_its_run_does(bench) -> None:
    outer = bench.start("outer")
    with outer.attached():
        inner = bench.start("inner", spans=False)
    with bench.tracer.start_as_current_span(
        "invoke_agent A", attributes={"gen_ai.agent.name": "A"}
    ):
        turn = inner.turn("A")
        inner.message("B", "not mine", carriers=(turn,))
        inner.message("A", "mine", carriers=(turn,))
        turn.end()
    inner.finish("completed")
    outer.finish("completed")
    assert bench.carriers() == {0: "agent_message B", 1: "invoke_agent A"}
    assert len(bench.exporter.get_finished_spans()) == 3
