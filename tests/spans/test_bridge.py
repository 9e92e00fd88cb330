"""What the bridge makes of spans that others begin and end."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import Status, StatusCode

from mastwatch import guard
from mastwatch.events import Event, MessageSent, RunFinished, RunStarted, ToolCalled
from mastwatch.spans.bridge import Processor, span_processor
from mastwatch.spans.bridging import order, registry
from mastwatch.spans.dialects.genai import DIALECT as GENAI
from mastwatch.spans.foreign.step import Step
from spans.bench import (
    GENAI_AGENTS,
    GENAI_LANGCHAIN,
    GENAI_OPENAI,
    OI_LANGCHAIN,
    Bench,
    oi_chat,
    output,
)


def test_a_run_is_told_while_it_goes_on(bench: Bench) -> None:
    told = bench.recording
    with bench.genai("invoke_agent", "clerk"):
        assert told.events == [], "a run begins with its first step"
        bench.chat("", "lookup")
        assert bench.kinds == ["RunStarted", "ModelCalled", "MessageSent"]
        bench.tool("lookup", call_id="id-lookup")
        assert bench.kinds[3:] == ["ToolCalled", "ToolReturned"]
        bench.chat("It is here.")
    assert told.said == [("clerk", ""), ("clerk", "It is here.")]
    assert told.of(ToolCalled)[0].index == 0, "the row of the message that asked"
    assert told.ends == [("completed", "")]
    assert {event.run_id for event in told.events} == {told.events[0].run_id}
    assert bench.recording.spans == [], "it opens no span"


def test_what_makes_no_step_makes_no_run(bench: Bench) -> None:
    with bench.genai("create_agent", "clerk"):
        pass
    with bench.tracer("my.web.server").start_as_current_span("GET /"):
        pass
    assert bench.recording.events == []


def test_the_host_s_own_span_around_is_not_the_run(bench: Bench) -> None:
    with bench.tracer("my.web.server").start_as_current_span("GET /") as request:
        for name in ("one", "two"):
            with bench.genai("invoke_agent", name):
                bench.chat(f"I am {name}.")
    assert [event.name for event in bench.recording.of(RunStarted)] == ["one", "two"]
    assert len(bench.recording.ends) == 2
    assert "mastwatch.run.id" not in (request.attributes or {})  # type: ignore[attr-defined]


def test_the_root_span_bears_the_run_s_id(bench: Bench) -> None:
    with bench.genai("invoke_agent", "clerk") as root:
        bench.chat("Here.")
        run = bench.recording.of(RunStarted)[0].run_id
        assert root.attributes["mastwatch.run.id"] == run  # type: ignore[attr-defined]


def test_agents_under_an_agent_are_turns_and_under_a_tool_a_branch(bench: Bench) -> None:
    with bench.genai("invoke_workflow", "team"):
        with bench.genai("invoke_agent", "planner"):
            bench.chat("", "ask")
            with bench.genai("execute_tool", "ask"), bench.genai("invoke_agent", "clerk"):
                bench.chat("Seven.")
        with bench.genai("invoke_agent", "poet"):
            bench.chat("Seven ferries.")
    starts = [(event.branch, event.name) for event in bench.recording.of(RunStarted)]
    assert starts == [("", "team"), ("1", "clerk")]
    said = [(m.branch, m.sender) for m in bench.recording.of(MessageSent)]
    assert said == [("", "planner"), ("1", "clerk"), ("", "poet")]
    assert [(end.branch, end.outcome) for end in bench.recording.of(RunFinished)] == [
        ("1", "completed"),
        ("", "completed"),
    ]


def test_agents_side_by_side_cannot_hear_each_other(bench: Bench) -> None:
    with bench.genai("invoke_workflow", "team"):
        with bench.genai("invoke_agent", "ann"):
            bench.chat("One.")
        context = trace.set_span_in_context(trace.get_current_span())
        started = [
            bench.tracer(GENAI_AGENTS).start_span(
                f"invoke_agent {name}",
                context,
                attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name},
            )
            for name in ("ben", "cleo")
        ]
        for span in started:
            with trace.use_span(span):
                bench.chat("", "lookup")
                bench.tool("lookup", call_id="id-lookup")
        for span in started:
            span.end()
    said = [(message.branch, message.sender) for message in bench.recording.of(MessageSent)]
    assert said == [("", "ann"), ("", "ben"), ("1", "cleo")]
    assert [call.branch for call in bench.recording.of(ToolCalled)] == ["", "1"]
    assert [end.branch for end in bench.recording.of(RunFinished)] == ["1", ""]


def test_a_model_that_a_tool_asks_says_nothing(bench: Bench) -> None:
    with bench.genai("invoke_agent", "clerk"):
        bench.chat("", "sum_up")
        with bench.genai("execute_tool", "sum_up"):
            bench.chat("In short: seven.")
        bench.chat("Seven.")
    assert [text for _, text in bench.recording.said] == ["", "Seven."]
    assert len(bench.recording.models) == 3


def test_an_agent_whose_model_calls_withhold_their_text_says_it_itself(bench: Bench) -> None:
    with bench.genai("invoke_agent", "clerk", **output("It is here.")):
        bench.chat(None)
        bench.tool("lookup")
        bench.chat(None)
    assert bench.recording.said == [("clerk", None), ("clerk", "It is here.")]


def test_without_model_calls_an_agent_s_end_is_its_utterance(bench: Bench) -> None:
    agent = bench.genai("invoke_agent", "clerk", GENAI_LANGCHAIN)
    with agent, bench.genai("execute_tool", "lookup", GENAI_LANGCHAIN):
        pass
    assert bench.recording.said == [("clerk", None)]


@pytest.mark.parametrize(
    ("kind", "outcome", "error"),
    [
        ("ValueError", "error", "ValueError"),
        ("asyncio.CancelledError", "cancelled", None),
        ("langgraph.errors.GraphRecursionError", "limit", None),
        ("GeneratorExit", "abandoned", None),
    ],
)
def test_how_a_run_ends(bench: Bench, kind: str, outcome: str, error: str | None) -> None:
    with bench.genai("invoke_agent", "clerk") as root:
        bench.chat("Well then.")
        root.set_attribute("error.type", kind)
        root.set_status(Status(StatusCode.ERROR))
    end = bench.recording.of(RunFinished)[0]
    assert (end.outcome, end.error) == (outcome, error)


def test_nested_accounts_of_one_model_call_are_one(bench: Bench) -> None:
    with bench.tracer(OI_LANGCHAIN).start_as_current_span("calc") as root:
        with bench.tracer(OI_LANGCHAIN).start_as_current_span("ChatOpenAI") as outer:
            bench.chat("Seven.", scope=GENAI_OPENAI, **{"gen_ai.request.model": "gpt"})
            assert bench.recording.events == [], "the span around may be the same call"
            outer.set_attributes(oi_chat("Seven.", metadata='{"lc_agent_name": "calc"}'))
        assert bench.recording.said == [("calc", "Seven.")]
        root.set_attribute("openinference.span.kind", "CHAIN")
    assert [call.model for call in bench.recording.models] == ["gpt"], "each adds what it knows"


def test_a_step_that_waited_is_told_when_the_span_around_is_something_else(bench: Bench) -> None:
    with bench.tracer(OI_LANGCHAIN).start_as_current_span("graph"):
        with bench.tracer(OI_LANGCHAIN).start_as_current_span("node") as node:
            bench.chat("One.", scope=GENAI_OPENAI)
            bench.chat("Two.", scope=GENAI_OPENAI)
            assert bench.recording.events == []
            node.set_attributes(
                {"openinference.span.kind": "CHAIN", "metadata": '{"langgraph_node": "node"}'}
            )
        assert bench.recording.said == [("node", "One."), ("node", "Two.")]


def test_accounts_in_traces_of_their_own_are_one_if_they_overlap_and_say_the_same(
    bench: Bench,
) -> None:
    # Callbacks leave no span current: that of the library below is a root.
    outer = bench.tracer(OI_LANGCHAIN).start_span("ChatOpenAI")
    bench.chat("Seven.", scope=GENAI_OPENAI)
    outer.set_attributes(oi_chat("Seven."))
    outer.end()
    assert [text for _, text in bench.recording.said] == ["Seven."]
    assert len(bench.recording.models) == 1


def test_what_overlaps_but_says_something_else_is_another_call(bench: Bench) -> None:
    outer = bench.tracer(OI_LANGCHAIN).start_span("ChatOpenAI")
    bench.chat("Eight.", scope=GENAI_OPENAI)
    outer.set_attributes(oi_chat("Seven."))
    outer.end()
    assert sorted(text or "" for _, text in bench.recording.said) == ["Eight.", "Seven."]


def test_retries_are_no_duplicates(bench: Bench) -> None:
    with bench.genai("invoke_agent", "clerk"):
        bench.chat("Seven.")
        bench.chat("Seven.")
        for _ in range(2):
            bench.tool("lookup", call_id="same")  # some libraries give one id per tool
    assert len(bench.recording.models) == len(bench.recording.said) == 2
    assert len(bench.recording.tools) == 2


def test_a_tool_inside_the_same_tool_is_one_call(bench: Bench) -> None:
    with bench.genai("invoke_agent", "clerk"):
        other = "opentelemetry.util.genai.handler"
        with bench.genai("execute_tool", "lookup"), bench.genai("execute_tool", "lookup", other):
            pass
        with bench.genai("execute_tool", "lookup"), bench.genai("execute_tool", "fetch", other):
            pass
    assert [name for _, name, _ in bench.recording.tools] == ["lookup", "fetch", "lookup"]


def test_of_two_producers_of_a_library_one_is_read(bench: Bench) -> None:
    """In two traces, as the official instrumentation and OpenInference make them."""
    theirs = bench.tracer(OI_LANGCHAIN).start_span("clerk")
    in_theirs = trace.set_span_in_context(theirs)
    with bench.genai("invoke_agent", "clerk", GENAI_LANGCHAIN):
        call = bench.tracer(OI_LANGCHAIN).start_span("Model", in_theirs)
        call.set_attributes(oi_chat("Here.", metadata='{"lc_agent_name": "clerk"}'))
        call.end()
        with bench.genai("execute_tool", "lookup", GENAI_LANGCHAIN):
            tool = bench.tracer(OI_LANGCHAIN).start_span("lookup", in_theirs)
        tool.set_attributes({"openinference.span.kind": "TOOL", "tool.name": "lookup"})
        tool.end()
    theirs.set_attribute("openinference.span.kind", "CHAIN")
    theirs.end()
    assert bench.recording.said == [("clerk", "Here.")]
    assert len(bench.recording.tools) == 1
    assert len(bench.recording.of(RunStarted)) == len(bench.recording.ends) == 1


def test_model_calls_outside_any_run_are_joined_by_their_histories(bench: Bench) -> None:
    first = [{"role": "user", "parts": [{"type": "text", "content": "How many ferries?"}]}]
    second = [
        *first,
        {"role": "assistant", "parts": [{"type": "text", "content": "Seven."}]},
        {"role": "user", "parts": [{"type": "text", "content": "And on Sundays?"}]},
    ]
    for sent, text in ((first, "Seven."), (second, "Three.")):
        bench.chat(text, scope=GENAI_OPENAI, **{"gen_ai.input.messages": json.dumps(sent)})
    assert len(bench.recording.of(RunStarted)) == 1
    assert "Seven." in [text for _, text in bench.recording.said]
    assert "Three." in [text for _, text in bench.recording.said]
    assert bench.recording.spans == []


def test_a_tool_alone_is_no_run_but_finds_the_only_one_there_is(bench: Bench) -> None:
    bench.tool("lookup")
    assert bench.recording.events == []
    with bench.genai("invoke_agent", "clerk"):
        bench.chat("", "lookup")
        thread = threading.Thread(target=bench.tool, args=("lookup",))  # without our context
        thread.start()
        thread.join()
    assert bench.recording.tools == [("clerk", "lookup", {})]
    assert len(bench.recording.of(RunStarted)) == 1


def test_a_run_inside_a_run_of_ours_is_a_branch_of_it(bench: Bench) -> None:
    run = bench.recording.emitter.start_run("mine", framework="custom")
    with run.attached(), bench.genai("invoke_agent", "clerk"):
        bench.chat("Here.")
    run.finish("completed")
    message = bench.recording.of(MessageSent)[0]
    assert (message.run_id, message.branch) == (run.id, "1")


def test_a_model_call_that_a_hook_of_ours_has_open_is_left_to_it(bench: Bench) -> None:
    run = bench.recording.emitter.start_run("mine", framework="custom")
    call = run.model_call(agent="clerk")
    with call.attached():
        bench.chat("Here.", scope=GENAI_OPENAI)
    call.answered("Here.")
    call.end()
    run.finish("completed")
    assert len(bench.recording.models) == 1


def test_scopes_that_our_hooks_see_are_left_alone(bench: Bench) -> None:
    bench.bridge.leave(["opentelemetry.instrumentation.openai", GENAI_AGENTS])
    with bench.genai("invoke_agent", "clerk"):
        bench.chat("Here.")
        bench.chat("Here.", scope="opentelemetry.instrumentation.openai.v1")
    assert bench.recording.events == []


def test_a_hook_below_can_ask_whether_it_is_inside_a_model_call_that_is_read(
    bench: Bench,
) -> None:
    emitter = bench.recording.emitter
    with bench.genai("invoke_agent", "clerk"):
        assert not emitter.model_span_here()
        with bench.genai("chat", "m"):
            assert emitter.model_span_here()
        with bench.genai("execute_tool", "lookup"):
            assert not emitter.model_span_here()


def test_spans_written_by_hand_are_known_by_their_attributes(bench: Bench) -> None:
    mine = bench.tracer("my.app")
    with mine.start_as_current_span("agent") as agent:
        agent.set_attributes({"gen_ai.operation.name": "invoke_agent"})
        agent.set_attributes({"gen_ai.agent.name": "clerk", **output("Here.")})
    assert bench.recording.said == [("clerk", "Here.")]


def test_a_result_that_was_cut_equals_no_other(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        type(GENAI), "read", lambda self, span: Step(op="tool", result="a", truncated=True)
    )
    with bench.genai("invoke_agent", "clerk"):
        bench.tool("lookup")
    assert bench.recording.results[0][1] is None


def test_our_own_errors_stay_here(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MASTWATCH_RAISE_ERRORS", "0")

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(type(GENAI), "read", fail)
    before = guard.counts().get("bridge.read", 0)
    with bench.genai("invoke_agent", "clerk"):
        bench.chat("Here.")
    assert guard.counts()["bridge.read"] > before
    monkeypatch.setattr(bench.bridge.listener, "ended", fail)
    with bench.genai("invoke_agent", "clerk"):
        pass
    assert guard.counts()["bridge.end"] > 0


def test_when_the_bridge_is_closed_it_hears_nothing_and_runs_end(bench: Bench) -> None:
    with bench.genai("invoke_agent", "clerk"):
        bench.chat("Here.")
        bench.bridge.close()
        bench.chat("And there.")
    assert bench.recording.said == [("clerk", "Here.")]
    assert bench.recording.ends == [("unknown", "uninstrumented")]


def test_a_provider_is_given_one_processor_however_often_we_come() -> None:
    processor, provider = Processor(), TracerProvider()
    for _ in range(3):
        processor.seats.take(provider)
    assert len(provider._active_span_processor._span_processors) == 1
    processor.seats.take(object())  # one that takes none
    processor.seats.leave()
    assert provider._active_span_processor._span_processors == ()


def test_a_processor_on_a_provider_twice_tells_once(bench: Bench) -> None:
    bench.provider.add_span_processor(span_processor())
    with bench.genai("invoke_agent", "clerk"):
        bench.chat("Here.")
    assert bench.recording.said == [("clerk", "Here.")]


@pytest.mark.parametrize(("bound", "value"), [("MAX_OPEN", 3), ("MAX_AGE", 0.0)])
def test_open_spans_are_bounded(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, bound: str, value: float
) -> None:
    tracer = bench.tracer(GENAI_AGENTS)
    first = tracer.start_span(
        "invoke_agent lost",
        attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "lost"},
    )
    with trace.use_span(first):
        bench.chat("Here.")
    monkeypatch.setattr(registry, bound, value)
    left = [tracer.start_span("never ended") for _ in range(3)]
    assert bench.recording.ends == [("unknown", "its span never ended")]
    assert left


def test_a_step_waits_only_so_long(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    with bench.tracer(OI_LANGCHAIN).start_as_current_span("node"):
        bench.chat("One.", scope=GENAI_OPENAI)
        assert bench.recording.said == []
        monkeypatch.setattr(order, "MAX_WAIT", -1.0)
        with bench.genai("invoke_agent", "somebody else"):  # any end is a time to look
            pass
        assert [text for _, text in bench.recording.said] == ["One."]


def test_flushing_tells_what_waits(bench: Bench) -> None:
    with bench.tracer(OI_LANGCHAIN).start_as_current_span("node"):
        bench.chat("One.", scope=GENAI_OPENAI)
        bench.provider.force_flush()
        assert [text for _, text in bench.recording.said] == ["One."]


def test_a_listener_that_ends_spans_itself_changes_no_order(bench: Bench) -> None:
    """Sinks may do anything, such as running an agent, or waiting for a thread that does."""
    heard: list[str] = []

    def deliver(event: Event, verdicts: Any) -> None:
        heard.append(type(event).__name__)
        if isinstance(event, MessageSent) and event.text == "First.":
            thread = threading.Thread(target=in_thread)
            thread.start()
            thread.join(timeout=10)
            assert not thread.is_alive(), "it waits for us"

    bench.recording.deliver = deliver  # type: ignore[method-assign]
    with bench.genai("invoke_agent", "clerk") as root:

        def in_thread() -> None:
            with trace.use_span(root):
                bench.chat("Second.")

        bench.chat("First.")
    assert bench.recording.said == [("clerk", "First."), ("clerk", "Second.")]
    assert heard[-1] == "RunFinished"


def test_the_context_of_the_host_stays_as_it_was(bench: Bench) -> None:
    emitter = bench.recording.emitter
    with bench.genai("invoke_agent", "clerk"):
        bench.chat("Here.")
        assert emitter.current() is None
        assert emitter.model_call_here() is None
