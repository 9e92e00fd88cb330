"""What is told of runs: who speaks, which tools run, how it ends."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from agents import (
    Agent,
    GuardrailFunctionOutput,
    InputGuardrailTripwireTriggered,
    MaxTurnsExceeded,
    RunConfig,
    RunHooks,
    Runner,
    SQLiteSession,
    function_tool,
    input_guardrail,
    set_tracing_disabled,
)

from apps.openai_agents_model import Hanging, Scripted, calls, says
from mastwatch.events import (
    HandedOff,
    HumanReplied,
    MessageSent,
    RunFinished,
    RunStarted,
    ToolCalled,
    ToolReturned,
)
from mastwatch.spans import semconv
from mastwatch.testing.recording import Recording


@function_tool
def look(city: str) -> str:
    """Look at the sky."""
    return f"rain in {city}"


@function_tool
def fails(city: str) -> str:
    """Never works."""
    raise ValueError("no sky")


@function_tool(needs_approval=True)
def delete(city: str) -> str:
    """Remove a city."""
    return f"{city} is gone"


def looker(*more: Any, name: str = "looker", **options: Any) -> Agent:
    script = Scripted(calls("look", '{"city": "Ulm"}', "c1"), *(more or (says("It rains."),)))
    return Agent(name=name, instructions="Look.", tools=[look], model=script, **options)


def desk() -> Agent:
    billing = Agent(name="billing", instructions="Bill.", model=Scripted(says("You owe nothing.")))
    transfer = [says("One moment."), calls("transfer_to_billing", "{}", "h1")]
    return Agent(name="desk", instructions="Route.", handoffs=[billing], model=Scripted(transfer))


def drive(way: str, agent: Agent, given: Any = "hello", **options: Any) -> Any:
    if way == "run_sync":
        return Runner.run_sync(agent, given, **options)
    if way == "run":
        return asyncio.run(Runner.run(agent, given, **options))

    async def streamed() -> Any:
        result = Runner.run_streamed(agent, given, **options)
        async for _ in result.stream_events():
            pass
        return result

    return asyncio.run(streamed())


WAYS = pytest.mark.parametrize("way", ["run_sync", "run", "run_streamed"])


@WAYS
def test_tool_call_and_reply(recording: Recording, way: str) -> None:
    assert drive(way, looker()).final_output == "It rains."
    recording.check()
    assert recording.said == [("looker", ""), ("looker", "It rains.")]
    assert recording.tools == [("looker", "look", {"city": "Ulm"})]
    assert recording.results == [("look", "rain in Ulm", None)]
    assert recording.ends == [("completed", "final output")]
    [started] = recording.of(RunStarted)
    assert (started.name, started.task, started.framework) == ("looker", "hello", "openai_agents")
    assert started.prompts == {"looker": "Look."}
    assert started.contract.max_messages is None  # nobody has asked for a limit
    [called] = recording.of(ToolCalled)
    assert (called.call_id, called.index) == ("c1", 0)
    last = recording.models[-1]
    assert last.model == "scripted-1"
    assert last.request is not None
    assert [(m.role, m.content) for m in last.request] == [
        ("system", "Look."),
        ("user", "hello"),
        ("assistant", ""),
        ("tool", "rain in Ulm"),
    ]
    if way != "run_streamed":
        assert (last.input_tokens, last.output_tokens) == (7, 3)
    names = [span.name for span in recording.spans]
    assert names == [
        "invoke_workflow looker",
        "invoke_agent looker",
        "chat scripted-1",
        "execute_tool look",
        "chat scripted-1",
    ]
    carriers = {
        span.attributes[semconv.MESSAGE_INDEX]: span.name.split()[0]
        for span in recording.spans
        if span.attributes and semconv.MESSAGE_INDEX in span.attributes
    }
    assert carriers == {0: "chat", 2: "invoke_agent"}


@WAYS
def test_tracing_switched_off_changes_nothing(recording: Recording, way: str) -> None:
    set_tracing_disabled(True)
    try:
        config = RunConfig(tracing_disabled=True, trace_include_sensitive_data=False)
        drive(way, looker(), run_config=config)
    finally:
        set_tracing_disabled(False)
    recording.check()
    assert recording.results == [("look", "rain in Ulm", None)]
    assert recording.said[-1] == ("looker", "It rains.")


@WAYS
def test_hand_off(recording: Recording, way: str) -> None:
    assert drive(way, desk()).final_output == "You owe nothing."
    recording.check()
    assert recording.said == [("desk", "One moment."), ("billing", "You owe nothing.")]
    assert recording.tools == [("desk", "transfer_to_billing", {})]
    assert recording.results == [("transfer_to_billing", '{"assistant": "billing"}', None)]
    [handed] = recording.of(HandedOff)
    assert (handed.source, handed.target) == ("desk", "billing")
    assert recording.of(MessageSent)[0].recipients == ("billing",)
    turns = [s.name for s in recording.spans if s.name.startswith("invoke_agent")]
    assert turns == ["invoke_agent desk", "invoke_agent billing"]
    assert recording.of(RunStarted)[0].prompts == {"desk": "Route.", "billing": "Bill."}


@WAYS
def test_agent_as_tool_is_a_branch(recording: Recording, way: str) -> None:
    inner = looker(name="inner")
    boss = Agent(
        name="boss",
        tools=[inner.as_tool("ask_inner", "Ask.")],
        model=Scripted(calls("ask_inner", '{"input": "the sky?"}', "a1"), says("Take a coat.")),
    )
    drive(way, boss)
    recording.check()
    outer, branch = recording.of(RunStarted)
    assert outer.run_id == branch.run_id
    assert branch.branch
    assert branch.task == "the sky?"
    inside = recording.of(MessageSent, branch=branch.branch)
    assert [(m.sender, m.text, m.recipients) for m in inside] == [
        ("inner", "", ()),
        ("inner", "It rains.", ("boss",)),
    ]
    assert [(m.sender, m.text) for m in recording.of(MessageSent, branch="")] == [
        ("boss", ""),
        ("boss", "Take a coat."),
    ]
    assert recording.of(ToolReturned, name="ask_inner")[0].result == "It rains."
    spans = {span.name: span for span in recording.spans}
    tool, turn = spans["execute_tool ask_inner"], spans["invoke_agent inner"]
    assert turn.parent is not None
    assert turn.parent.span_id == tool.context.span_id


def test_parallel_tool_calls(recording: Recording) -> None:
    both = [calls("look", '{"city": "Ulm"}', "c1"), calls("look", '{"city": "Bonn"}', "c2")]
    agent = Agent(name="a", tools=[look], model=Scripted(both, says("Rain all over.")))
    drive("run", agent)
    recording.check()
    assert sorted(e.call_id or "" for e in recording.of(ToolReturned)) == ["c1", "c2"]
    assert len(recording.of(MessageSent)[0].tool_calls) == 2


def test_tool_that_fails_with_a_result(recording: Recording) -> None:
    agent = Agent(
        name="a", tools=[fails], model=Scripted(calls("fails", '{"city":"X"}', "c"), says("Sorry."))
    )
    drive("run", agent)
    recording.check()
    [(name, result, error)] = recording.results
    assert (name, error) == ("fails", "ToolError")
    assert result is not None
    assert result.startswith("An error occurred while running the tool")


@WAYS
def test_tool_that_raises(recording: Recording, way: str) -> None:
    error = ValueError("boom")

    @function_tool(failure_error_function=None)
    def raises(city: str) -> str:
        raise error

    agent = Agent(name="a", tools=[raises], model=Scripted(calls("raises", '{"city":"X"}', "c")))
    with pytest.raises(Exception) as caught:  # noqa: PT011 - the SDK wraps it in one of its own
        drive(way, agent)
    assert error in (caught.value, caught.value.__cause__)
    recording.check()
    [returned] = recording.of(ToolReturned)
    assert returned.error == "ValueError"
    [finished] = recording.of(RunFinished)
    assert finished.outcome == "error"


@WAYS
def test_model_that_raises(recording: Recording, way: str) -> None:
    error = RuntimeError("no model")
    with pytest.raises(RuntimeError) as caught:
        drive(way, Agent(name="a", model=Scripted(error)))
    assert caught.value is error
    recording.check()
    assert recording.models[0].error == "RuntimeError"
    assert recording.ends == [("error", "RuntimeError")]


@WAYS
def test_max_turns_is_a_limit(recording: Recording, way: str) -> None:
    loop = Agent(name="a", tools=[look], model=Scripted(calls("look", '{"city": "U"}', "c1")))
    loop.model.answers = [calls("look", '{"city": "U"}', f"c{n}") for n in range(9)]  # type: ignore[union-attr]
    with pytest.raises(MaxTurnsExceeded):
        drive(way, loop, max_turns=3)
    assert recording.of(RunStarted)[0].contract.max_messages == 3
    recording.check()
    assert recording.ends == [("limit", "Max turns (3) exceeded")]
    assert len(recording.tools) == 3


@WAYS
def test_guardrail_calls_the_run_off(recording: Recording, way: str) -> None:
    judge = Agent(name="judge", model=Scripted(says("Off topic.")))

    @input_guardrail
    async def trips(context: Any, agent: Any, given: Any) -> GuardrailFunctionOutput:
        result = await Runner.run(judge, given)
        return GuardrailFunctionOutput(result.final_output, tripwire_triggered=True)

    with pytest.raises(InputGuardrailTripwireTriggered):
        drive(way, looker(input_guardrails=[trips]))
    [finished] = recording.of(RunFinished, branch="")
    assert (finished.outcome, finished.reason) == ("cancelled", "InputGuardrailTripwireTriggered")
    [inside] = recording.of(MessageSent, sender="judge")
    assert inside.branch
    recording.check()


@WAYS
def test_approval_pauses_and_resumes(recording: Recording, way: str) -> None:
    script = Scripted(calls("delete", '{"city": "Ulm"}', "d1"), says("Done."))
    agent = Agent(name="a", tools=[delete], model=script)
    session = SQLiteSession("conversation-1")
    result = drive(way, agent, session=session)
    assert recording.ends == [("paused", "tool approval")]
    state = result.to_state()
    state.approve(result.interruptions[0])
    assert drive(way, agent, state, session=session).final_output == "Done."
    assert recording.ends == [("paused", "tool approval"), ("completed", "final output")]
    first, second = recording.of(RunStarted)
    assert (first.run_id, first.conversation_id) == (second.run_id, "conversation-1")
    assert second.resumed
    assert len(recording.of(HumanReplied)) == 1
    assert recording.said == [("a", ""), ("a", "Done.")]
    assert recording.tools == [("a", "delete", {"city": "Ulm"})]
    assert recording.results == [("delete", "Ulm is gone", None)]
    assert recording.of(ToolCalled)[0].index == 0


def test_approval_inside_an_agent_that_is_a_tool(recording: Recording) -> None:
    script = Scripted(calls("delete", '{"city": "Ulm"}', "d1"), says("Gone."))
    inner = Agent(name="inner", tools=[delete], model=script)
    boss = Agent(
        name="boss",
        tools=[inner.as_tool("ask_inner", "Ask.")],
        model=Scripted(calls("ask_inner", '{"input": "delete it"}', "a1"), says("It is done.")),
    )
    result = drive("run", boss)
    state = result.to_state()
    state.approve(result.interruptions[0])
    assert drive("run", boss, state).final_output == "It is done."
    assert [t[1] for t in recording.tools] == ["ask_inner", "delete"]
    assert sorted(recording.results, key=str) == [
        ("ask_inner", "Gone.", None),
        ("delete", "Ulm is gone", None),
    ]
    assert [outcome for outcome, _ in recording.ends] == ["paused"] * 2 + ["completed"] * 2


class Noting(RunHooks):
    def __init__(self) -> None:
        self.heard: list[str] = []

    async def on_agent_start(self, context: Any, agent: Any) -> None:
        self.heard.append(f"start {agent.name}")

    async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None:
        self.heard.append(f"{tool.name}: {result}")

    async def on_agent_end(self, context: Any, agent: Any, output: Any) -> None:
        self.heard.append(f"end {output}")


@WAYS
def test_hooks_of_the_app_hear_the_same(recording: Recording, way: str) -> None:
    hooks = Noting()
    drive(way, looker(), hooks=hooks)
    assert hooks.heard == ["start looker", "look: rain in Ulm", "end It rains."]
    recording.check()


def test_what_is_no_hooks_object_is_refused_as_before(recording: Recording) -> None:
    with pytest.raises(TypeError, match="must be instances of RunHooks"):
        drive("run", looker(), hooks=object())
    recording.check()


def test_two_runs_one_after_the_other_and_two_at_once(recording: Recording) -> None:
    async def both() -> None:
        await Runner.run(looker(name="first"), "hello")
        await asyncio.gather(
            Runner.run(looker(name="second"), "hello"), Runner.run(looker(name="third"), "hello")
        )

    asyncio.run(both())
    recording.check()
    assert len({event.run_id for event in recording.of(RunStarted)}) == 3
    for started in recording.of(RunStarted):
        said = recording.of(MessageSent, run_id=started.run_id)
        assert {message.sender for message in said} == {started.name}


@pytest.mark.parametrize("way", ["run", "run_streamed"])
def test_cancelled_task(recording: Recording, way: str) -> None:
    async def cancel() -> None:
        model = Hanging()
        agent = Agent(name="a", model=model)

        async def read() -> None:
            if way == "run":
                await Runner.run(agent, "hello")
            async for _ in Runner.run_streamed(agent, "hello").stream_events():
                pass

        task = asyncio.create_task(read())
        await model.asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    recording.check()
    [(outcome, _)] = recording.ends
    assert outcome == "cancelled"


@pytest.mark.parametrize("mode", ["immediate", "after_turn"])
def test_cancelled_stream(recording: Recording, mode: Any) -> None:
    async def cancel() -> None:
        result = Runner.run_streamed(looker(), "hello")
        async for _ in result.stream_events():
            result.cancel(mode=mode)

    asyncio.run(cancel())
    recording.check()
    assert recording.ends == [("cancelled", "cancel")]


@pytest.mark.parametrize("stays", [True, False])
def test_stream_that_is_left(recording: Recording, stays: bool) -> None:
    """The SDK goes on without a reader, as long as there is a loop."""

    async def leave() -> None:
        result = Runner.run_streamed(looker(), "hello")
        async for _ in result.stream_events():
            break
        if stays:
            await asyncio.sleep(0.1)

    asyncio.run(leave())
    recording.check()
    expected = (
        ("completed", "final output") if stays else ("abandoned", "stream left before its end")
    )
    assert recording.ends == [expected]


def test_models_around_models_are_one_call(recording: Recording) -> None:
    class Around(Scripted):
        async def get_response(self, *args: Any, **kwargs: Any) -> Any:
            return await super().get_response(*args, **kwargs)

    drive("run", Agent(name="a", model=Around(says("Hi there."))))
    recording.check()
    assert len(recording.models) == 1


def test_a_package_of_the_same_name_is_left_alone(tmp_path: Any, monkeypatch: Any) -> None:
    import sys

    from mastwatch.instrumentor import DidNotEnable
    from mastwatch_instrumentations.openai_agents import OpenAIAgentsInstrumentor

    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "__init__.py").write_text("class Runner: pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [n for n in sys.modules if n == "agents" or n.startswith("agents.")]:
        monkeypatch.delitem(sys.modules, name)
    assert not OpenAIAgentsInstrumentor.present()
    import agents

    assert agents.Runner.__module__ == "agents"
    with pytest.raises(DidNotEnable):
        OpenAIAgentsInstrumentor().install(Recording().emitter)
