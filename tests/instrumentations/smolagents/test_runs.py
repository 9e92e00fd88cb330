"""What is told of runs: who speaks, which tools run, how it ends."""

from __future__ import annotations

import contextlib
import threading
from typing import Any, ClassVar

import pytest
from smolagents import CodeAgent, LogLevel, Tool, ToolCallingAgent, tool
from smolagents.utils import AgentError

from apps.smolagents_model import Scripted, answers, asks
from mastwatch.events import MessageSent, RunStarted, ToolCalled, ToolReturned
from mastwatch.spans import semconv
from mastwatch.spans.carry import Carry
from mastwatch.testing.recording import Recording
from mastwatch_instrumentations.smolagents import SmolagentsInstrumentor


@tool
def look(city: str) -> str:
    """Look at the sky.

    Args:
        city: Where.
    """
    return f"rain in {city}"


@tool
def fails(city: str) -> str:
    """Never works.

    Args:
        city: Where.
    """
    raise ValueError(f"no sky over {city}")


def caller(*script: Any, **options: Any) -> ToolCallingAgent:
    options = {"tools": [look, fails], "verbosity_level": LogLevel.OFF, **options}
    script = script or (asks(("look", {"city": "Ulm"}, "c1"), text="Let me see."), answers("Rain."))
    return ToolCallingAgent(model=Scripted(*script), **options)


def coder(*script: Any, **options: Any) -> CodeAgent:
    options = {"tools": [look, fails], "verbosity_level": LogLevel.OFF, **options}
    return CodeAgent(model=Scripted(*script), **options)


def code(text: str) -> str:
    return f"Thought: go on.\n<code>\n{text}\n</code>"


def carriers(recording: Recording) -> dict[Any, str]:
    return {
        span.attributes[semconv.MESSAGE_INDEX]: span.name.split()[0]
        for span in recording.spans
        if span.attributes and semconv.MESSAGE_INDEX in span.attributes
    }


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("stream_outputs", [False, True])
def test_tool_call_and_answer(recording: Recording, stream: bool, stream_outputs: bool) -> None:
    agent = caller(stream_outputs=stream_outputs)
    got = agent.run("What about Ulm?", stream=stream)
    if stream:
        assert not recording.events
        assert list(got)[-1].output == "Rain."
    else:
        assert got == "Rain."
    recording.check()
    assert recording.said == [
        ("ToolCallingAgent", "Let me see."),
        ("ToolCallingAgent", "Rain."),
    ]
    assert recording.tools == [("ToolCallingAgent", "look", {"city": "Ulm"})]
    assert recording.results == [("look", "rain in Ulm", None)]
    assert recording.ends == [("completed", "final answer")]
    [started] = recording.of(RunStarted)
    assert (started.task, started.framework) == ("What about Ulm?", "smolagents")
    assert started.prompts["ToolCallingAgent"]
    assert started.contract.max_messages is None  # nobody has asked for a limit
    [called] = recording.of(ToolCalled)
    assert (called.call_id, called.index) == ("c1", 0)
    assert carriers(recording) == {0: "chat", 2: "invoke_agent"}
    last = recording.models[-1]
    assert (last.model, last.input_tokens, last.output_tokens) == ("scripted-1", 7, 3)
    assert last.request is not None
    assert [message.role for message in last.request][:2] == ["system", "user"]
    assert last.request[-1].role == "tool"


def test_call_written_as_text(recording: Recording) -> None:
    said = '{"name": "look", "arguments": {"city": "Ulm"}}'
    caller(said, answers("Rain.")).run("What about Ulm?")
    recording.check()
    assert recording.said == [("ToolCallingAgent", said), ("ToolCallingAgent", "Rain.")]
    assert recording.tools == [("ToolCallingAgent", "look", {"city": "Ulm"})]
    assert [m.tool_calls[0].name for m in recording.of(MessageSent) if m.tool_calls] == ["look"]


def test_words_that_call_nothing_are_an_utterance(recording: Recording) -> None:
    caller("I do not know.", answers("Rain.")).run("What about Ulm?")
    recording.check()
    assert recording.said == [
        ("ToolCallingAgent", "I do not know."),
        ("ToolCallingAgent", "Rain."),
    ]


def test_parallel_calls(recording: Recording) -> None:
    cities = asks(("look", {"city": "Ulm"}, "c1"), ("look", {"city": "Bonn"}, "c2"))
    caller(cities, answers("Rain all over.")).run("What about them?")
    recording.check()
    assert sorted((e.call_id, e.index) for e in recording.of(ToolCalled)) == [("c1", 0), ("c2", 0)]
    assert [type(e).__name__ for e in recording.events[1:4]].count("ToolCalled") <= 2
    assert isinstance(
        next(e for e in recording.events if isinstance(e, (MessageSent, ToolCalled))), MessageSent
    )


def test_tool_that_fails(recording: Recording) -> None:
    caller(asks(("fails", {"city": "Ulm"}, "c1")), answers("Unknown.")).run("What about Ulm?")
    recording.check()
    [returned] = recording.of(ToolReturned)
    assert returned.error == "ValueError"
    assert returned.result is not None
    assert "no sky over Ulm" in returned.result
    assert recording.ends == [("completed", "final answer")]


def test_code_calls_tools(recording: Recording) -> None:
    script = (code("sky = look(city='Ulm')\nprint(sky)"), code("final_answer('Rain in Ulm.')"))
    assert coder(*script).run("What about Ulm?") == "Rain in Ulm."
    recording.check()
    assert [sender for sender, _ in recording.said] == ["CodeAgent"] * 3
    assert recording.said[-1] == ("CodeAgent", "Rain in Ulm.")
    [first, second, last] = recording.of(MessageSent)
    assert [call.name for call in first.tool_calls] == ["python_interpreter"]
    assert not last.tool_calls
    assert [(name, args) for _, name, args in recording.tools][1] == ("look", {"city": "Ulm"})
    assert [name for _, name, _ in recording.tools] == [
        "python_interpreter",
        "look",
        "python_interpreter",
    ]
    results = {name: result for name, result, _ in recording.results}
    assert results["look"] == "rain in Ulm"
    spans = {span.name: span for span in recording.spans}
    inner = spans["execute_tool look"]
    outer = [s.context.span_id for s in recording.spans if s.name.endswith("python_interpreter")]
    assert inner.parent is not None
    assert inner.parent.span_id in outer
    assert carriers(recording) == {
        first.index: "chat",
        second.index: "chat",
        last.index: ("invoke_agent"),
    }
    assert recording.ends == [("completed", "final answer")]


def test_code_that_fails(recording: Recording) -> None:
    coder(code("fails(city='Ulm')"), code("final_answer('Unknown.')")).run("What about Ulm?")
    recording.check()
    assert [(e.name, bool(e.error)) for e in recording.of(ToolReturned)][:2] == [
        ("fails", True),
        ("python_interpreter", True),
    ]


@pytest.mark.parametrize("manager", ["tools", "code"])
def test_managed_agent_is_a_branch(recording: Recording, manager: str) -> None:
    helper = caller(name="helper", description="Looks at the sky.")
    given: dict[str, Any] = {"task": "Look at Ulm."}
    if manager == "tools":
        given["additional_args"] = {}  # older versions demand it
        script: Any = (asks(("helper", given, "h1")), answers("Take a coat."))
        boss: Any = caller(*script, managed_agents=[helper], name="boss")
    else:
        script = (code("helper(task='Look at Ulm.')"), code("final_answer('Take a coat.')"))
        boss = coder(*script, managed_agents=[helper], name="boss")
    assert boss.run("What shall I wear?") == "Take a coat."
    recording.check()
    outer, inner = recording.of(RunStarted)
    assert outer.run_id == inner.run_id
    assert inner.branch
    assert "Look at Ulm." in (inner.task or "")
    inside = recording.of(MessageSent, branch=inner.branch)
    assert [(m.sender, m.text, m.recipients) for m in inside] == [
        ("helper", "Let me see.", ()),
        ("helper", "Rain.", ("boss",)),
    ]
    assert {m.sender for m in recording.of(MessageSent, branch="")} == {"boss"}
    [asked] = [e for e in recording.of(ToolCalled) if e.name == "helper"]
    assert (asked.agent, asked.arguments) == ("boss", given)
    [told] = [e for e in recording.of(ToolReturned) if e.name == "helper"]
    assert "Rain." in (told.result or "")


def test_plans_are_no_utterances(recording: Recording) -> None:
    script = ("1. Look. 2. Answer.", asks(("look", {"city": "Ulm"}, "c1")), answers("Rain."))
    caller(*script, planning_interval=5).run("What about Ulm?")
    recording.check()
    assert recording.said == [("ToolCallingAgent", ""), ("ToolCallingAgent", "Rain.")]
    assert len(recording.models) == 3
    plan, first, second = (model.turn for model in recording.models)
    assert plan != first == second


def test_max_steps_is_a_limit(recording: Recording) -> None:
    script = [asks(("look", {"city": f"Ulm {n}"}, f"c{n}")) for n in range(2)]
    caller(*script, "I would say rain.").run("What about Ulm?", max_steps=2)
    assert recording.of(RunStarted)[0].contract.max_messages == 2
    recording.check()
    assert recording.ends == [("limit", "Reached max steps.")]
    assert recording.said[-1] == ("ToolCallingAgent", "I would say rain.")
    assert len(recording.said) == 3


def test_model_that_raises(recording: Recording) -> None:
    error = RuntimeError("no model")
    with pytest.raises(AgentError) as caught:
        caller(error).run("What about Ulm?")
    assert caught.value.__cause__ is error
    recording.check()
    assert recording.models[0].error == "RuntimeError"
    [(outcome, reason)] = recording.ends
    assert (outcome, reason) == ("error", "AgentGenerationError")


def test_interrupt_cancels(recording: Recording) -> None:
    agent = caller(asks(("look", {"city": "Ulm"}, "c1")))
    agent.step_callbacks.register(
        __import__("smolagents").ActionStep, lambda step, agent: agent.interrupt()
    )
    with pytest.raises(AgentError, match="interrupted"):
        agent.run("What about Ulm?")
    recording.check()
    assert recording.ends == [("cancelled", "Agent interrupted.")]


def test_stream_closed_early_is_abandoned(recording: Recording) -> None:
    stream = caller().run("What about Ulm?", stream=True)
    next(stream)
    with contextlib.suppress(RuntimeError):  # smolagents goes on in a "finally", with or without us
        stream.close()
    recording.check()
    assert recording.ends == [("abandoned", "stream closed before its end")]


def test_two_runs_and_going_on(recording: Recording) -> None:
    agent = caller(answers("Rain."))
    agent.run("What about Ulm?")
    agent.run("And Bonn?", reset=False)
    recording.check()
    assert len({event.run_id for event in recording.of(RunStarted)}) == 2
    assert recording.ends == [("completed", "final answer")] * 2


def test_two_runs_at_once(recording: Recording) -> None:
    agents = [
        coder(code("print(look(city='Ulm'))"), code("final_answer('Rain.')"), name=f"a{n}")
        for n in range(3)
    ]
    threads = [threading.Thread(target=a.run, args=("What about Ulm?",)) for a in agents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    recording.check()
    assert len({event.run_id for event in recording.of(RunStarted)}) == 3
    for started in recording.of(RunStarted):
        said = recording.of(MessageSent, run_id=started.run_id)
        assert {message.sender for message in said} == {started.name}


def test_code_of_agents_at_work_side_by_side_shares_its_tools(recording: Recording) -> None:
    """The interpreter's thread knows its run by what mastwatch carries into threads."""
    both = threading.Barrier(2, timeout=30)

    @tool
    def meet(city: str) -> str:
        """Meet the other one.

        Args:
            city: Where.
        """
        both.wait()
        return f"met in {city}"

    def run(city: str) -> None:
        lines = f"meet('{city}')\nlook('{city}')", f"final_answer('{city}')"
        coder(*map(code, lines), tools=[meet, look], name=city).run(city)

    carry = Carry()
    carry.start()
    try:
        threads = [threading.Thread(target=run, args=(city,)) for city in ("Ulm", "Bonn")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        carry.stop()

    tasks = {started.run_id: started.task for started in recording.of(RunStarted)}
    called = [e for e in recording.of(ToolCalled) if e.name in ("meet", "look")]
    assert len(called) == 4
    assert all(e.arguments == {"city": tasks[e.run_id]} for e in called)
    assert all(e.agent == tasks[e.run_id] for e in called)
    recording.check()


def test_tool_that_overrides_call_is_one_call(recording: Recording) -> None:
    class Own(Tool):
        name = "own"
        description = "Does nothing."
        inputs: ClassVar[Any] = {"city": {"type": "string", "description": "Where."}}
        output_type = "string"

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return super().__call__(*args, **kwargs)

        def forward(self, city: str) -> str:
            return city

    coder(code("own('Ulm')"), code("final_answer('Rain.')"), tools=[Own()]).run("Go.")
    recording.check()
    assert [name for _, name, _ in recording.tools].count("own") == 1


def test_tools_used_outside_a_run_are_not_seen(recording: Recording) -> None:
    assert look("Ulm") == "rain in Ulm"
    assert not recording.events


@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_spans_are_left_to_others(first: str) -> None:
    name = "openinference.instrumentation.smolagents"
    others = pytest.importorskip(name).SmolagentsInstrumentor()
    recording, ours = Recording(), SmolagentsInstrumentor()
    if first == "ours":
        ours.install(recording.emitter)
    others.instrument(tracer_provider=recording.provider)
    if first == "theirs":
        ours.install(recording.emitter)
    try:
        caller().run("What about Ulm?")
    finally:
        if first == "ours":
            others.uninstrument()
            ours.uninstall()
        else:
            ours.uninstall()
            others.uninstrument()
    assert recording.said == [("ToolCallingAgent", "Let me see."), ("ToolCallingAgent", "Rain.")]
    assert recording.tools == [("ToolCallingAgent", "look", {"city": "Ulm"})]
    assert len(recording.models) == 2
    assert {span.instrumentation_scope.name for span in recording.spans} == {name}
    assert len(carriers(recording)) == 2
