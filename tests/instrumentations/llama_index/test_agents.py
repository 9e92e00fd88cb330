"""What is seen of agents: who speaks, which tools run, how it ends."""

# No deferred annotations: LlamaIndex looks at those of tools to find the one for its context.
import asyncio
from typing import Any

import pytest
from llama_index.core.agent.workflow import (
    AgentWorkflow,
    CodeActAgent,
    ReActAgent,
    base_agent,
)
from llama_index.core.tools import ToolOutput
from llama_index.core.workflow import (
    Context,
    HumanResponseEvent,
    InputRequiredEvent,
    StartEvent,
    StopEvent,
    Workflow,
    step,
)

from apps.llama_index_agents import Scripted, agent, ask, broken, healthy, population
from mastwatch.events import (
    HandedOff,
    HumanAsked,
    HumanReplied,
    MessageSent,
    RunFinished,
    RunStarted,
    ToolCalled,
    ToolReturned,
)
from mastwatch.testing.recording import Recording
from mastwatch_instrumentations.llama_index import LlamaIndexInstrumentor

HAS_EXCEPTION = hasattr(ToolOutput, "exception")
"""Whether this LlamaIndex keeps what a tool raised."""

ANSWER = "Bonn has 330000 inhabitants."
TASK = "How many people live in Bonn?"
DONE = ("completed", "StopEvent")
LOOKS = [ask("c1", "population", city="Bonn")]


@pytest.mark.parametrize("streaming", [True, False])
async def test_a_workflow_of_agents_is_a_run(recording: Recording, streaming: bool) -> None:
    team = healthy()
    for member in team.agents.values():
        member.streaming = streaming
    assert str(await team.run(user_msg=TASK)) == ANSWER

    recording.check()
    (start,) = recording.of(RunStarted)
    assert (start.name, start.task) == ("AgentWorkflow", TASK)
    assert start.prompts == {
        "researcher": "You are the researcher.",
        "writer": "You are the writer.",
    }
    asked = [(m.sender, m.text, [c.name for c in m.tool_calls]) for m in recording.of(MessageSent)]
    assert asked == [
        ("researcher", "", ["population"]),
        ("researcher", "", ["handoff"]),
        ("writer", ANSWER, []),
    ]
    assert recording.tools[0] == ("researcher", "population", {"city": "Bonn"})
    assert recording.results[0] == ("population", "Bonn: 330000", None)
    assert [c.index for c in recording.of(ToolCalled)] == [0, 2]
    (handed,) = recording.of(HandedOff)
    assert (handed.source, handed.target) == ("researcher", "writer")
    assert recording.ends == [DONE]
    assert [span.name for span in recording.spans] == [
        "invoke_workflow AgentWorkflow",
        "invoke_agent researcher",
        "chat scripted",
        "execute_tool population",
        "chat scripted",
        "execute_tool handoff",
        "invoke_agent writer",
        "chat scripted",
    ]


async def test_a_model_call_tells_what_it_was_sent_and_what_it_cost(recording: Recording) -> None:
    await healthy().run(user_msg=TASK)

    first, second, third = recording.models
    assert [model.agent for model in recording.models] == ["researcher", "researcher", "writer"]
    assert first.turn == second.turn != third.turn
    assert first.request is not None
    assert [(m.role, m.content) for m in first.request] == [
        ("system", "You are the researcher."),
        ("user", TASK),
    ]
    assert second.request is not None
    assert second.request[:2] == first.request
    assert (first.input_tokens, first.output_tokens) == (7, 3)


async def test_an_agent_that_reasons_in_text(recording: Recording) -> None:
    model = Scripted(
        'Thought: I look it up.\nAction: population\nAction Input: {"city": "Bonn"}',
        "Thought: hm.\nAction:",
        f"Thought: I know it now.\nAnswer: {ANSWER}",
        functions=False,
    )
    lone = ReActAgent(name="solo", llm=model, tools=[population])
    assert str(await lone.run(user_msg=TASK)) == ANSWER

    recording.check()
    assert recording.said == [
        ("solo", "I look it up."),
        ("solo", "Thought: hm.\nAction:"),
        ("solo", ANSWER),
    ]
    assert recording.tools == [("solo", "population", {"city": "Bonn"})]
    assert recording.ends == [DONE]
    assert recording.of(RunStarted)[0].name == "solo"


async def test_an_agent_that_writes_code(recording: Recording) -> None:
    ran: list[str] = []

    def execute(code: str) -> str:
        ran.append(code)
        return "330000"

    model = Scripted("I count.\n<execute>\nprint(population('Bonn'))\n</execute>", ANSWER)
    coder = CodeActAgent(name="coder", llm=model, tools=[population], code_execute_fn=execute)
    assert str(await coder.run(user_msg=TASK)) == ANSWER

    recording.check()
    assert len(ran) == len(recording.tools) == 1
    assert recording.said[-1] == ("coder", ANSWER)


@pytest.mark.parametrize(("name", "error"), [("broken", "LookupError"), ("none", "ToolNotFound")])
async def test_a_tool_that_fails(recording: Recording, name: str, error: str) -> None:
    lone = agent("solo", Scripted([ask("c1", name, city="Bonn")], "No idea."), broken)
    await lone.run(user_msg=TASK)

    recording.check()
    ((tool, _, failed),) = recording.results
    assert tool == name
    assert failed == (error if HAS_EXCEPTION or name == "none" else "ToolError")


async def test_calls_beside_each_other(recording: Recording) -> None:
    calls = [ask("c1", "population", city="Bonn"), ask("c2", "population", city="Köln")]
    await agent("solo", Scripted(calls, "Both."), population).run(user_msg=TASK)

    recording.check()
    assert len(recording.of(MessageSent)[0].tool_calls) == 2
    assert {event.call_id: event.index for event in recording.of(ToolCalled)} == {"c1": 0, "c2": 0}


async def test_an_agent_that_may_not_go_on_is_a_limit(recording: Recording) -> None:
    lone = agent("solo", Scripted(LOOKS, LOOKS, LOOKS), population)
    with pytest.raises(Exception, match="Max iterations of 2 reached"):
        await lone.run(user_msg=TASK, max_iterations=2)

    recording.check()
    assert recording.ends == [("limit", "Max iterations of 2 reached")]


@pytest.mark.skipif(
    not hasattr(AgentWorkflow, "_generate_early_stopping_response"),
    reason="this LlamaIndex knows no early stopping",
)
async def test_an_agent_that_is_made_to_answer_is_a_limit(recording: Recording) -> None:
    lone = agent("solo", Scripted(LOOKS, LOOKS, "I stop here."), population)
    answer = await lone.run(user_msg=TASK, max_iterations=2, early_stopping_method="generate")

    assert str(answer) == "I stop here."
    recording.check()
    assert recording.said[-1] == ("solo", "I stop here.")
    assert recording.ends == [("limit", "Max iterations of 2 reached")]


async def test_an_error_comes_out_as_it_is(recording: Recording) -> None:
    error = ValueError("down")
    with pytest.raises(ValueError, match="down") as raised:
        await agent("solo", Scripted(error)).run(user_msg=TASK)

    recording.check()
    assert raised.value is error
    (end,) = recording.of(RunFinished)
    assert (end.outcome, end.reason, end.error) == ("error", "ValueError", "ValueError")


async def test_an_agent_as_a_tool_speaks_in_a_branch(recording: Recording) -> None:
    expert = agent("expert", Scripted("330000, I say."))

    async def consult(question: str) -> str:
        """Ask the expert."""
        return str(await expert.run(user_msg=question))

    boss = agent("boss", Scripted([ask("c1", "consult", question="How many?")], ANSWER), consult)
    await boss.run(user_msg=TASK)

    recording.check()
    assert [(m.sender, m.branch) for m in recording.of(MessageSent)] == [
        ("boss", ""),
        ("expert", "1"),
        ("boss", ""),
    ]
    assert recording.of(RunStarted)[1].task == "How many?"
    assert recording.results == [("consult", "330000, I say.", None)]


async def test_a_workflow_of_the_apps_own_around_agents(recording: Recording) -> None:
    class Plan(Workflow):
        @step
        async def work(self, ev: StartEvent) -> StopEvent:
            facts = await agent("facts", Scripted("A fact.")).run(user_msg=ev.topic)
            tip = await agent("tips", Scripted("A tip.")).run(user_msg=str(facts))
            return StopEvent(result=str(tip))

    assert await Plan().run(topic="Bonn") == "A tip."

    recording.check()
    assert recording.said == [("facts", "A fact."), ("tips", "A tip.")]
    assert [(s.name, s.task) for s in recording.of(RunStarted)] == [
        ("Plan", "Bonn"),
        ("facts", "Bonn"),
        ("tips", "A fact."),
    ]
    assert len({event.run_id for event in recording.events}) == 1


waits = pytest.mark.skipif(
    not hasattr(base_agent, "_get_waiting_for_event_exception"),
    reason="a tool of this LlamaIndex cannot wait: the exception by which it does is caught",
)


def _asking() -> Any:
    async def confirm(ctx: Context) -> str:
        """Ask a person."""
        reply = await ctx.wait_for_event(
            HumanResponseEvent, waiter_event=InputRequiredEvent(prefix="Sure?")
        )
        return f"They said {reply.response}"

    return agent("clerk", Scripted([ask("c1", "confirm")], "Confirmed."), confirm)


@waits
async def test_a_person_is_asked_and_answers(recording: Recording) -> None:
    handler = _asking().run(user_msg="Book it.")
    async for event in handler.stream_events():
        if isinstance(event, InputRequiredEvent):
            handler.ctx.send_event(HumanResponseEvent(response="yes"))
    assert str(await handler) == "Confirmed."

    recording.check()
    assert [event.agent for event in recording.of(HumanAsked)] == ["clerk"]
    assert [event.text for event in recording.of(HumanReplied)] == ["yes"]
    assert recording.tools == [("clerk", "confirm", {})]
    assert recording.results == [("confirm", "They said yes", None)]
    assert recording.ends == [DONE]


@waits
async def test_a_run_that_is_cancelled_while_it_waits_is_paused(recording: Recording) -> None:
    handler = _asking().run(user_msg="Book it.")
    async for event in handler.stream_events():
        if isinstance(event, InputRequiredEvent):
            break
    await handler.cancel_run()

    recording.check()
    assert recording.ends == [("paused", "InputRequiredEvent")]


async def test_a_cancelled_run(recording: Recording) -> None:
    begun = asyncio.Event()

    async def hang() -> str:
        begun.set()
        await asyncio.sleep(60)
        return ""

    handler = agent("solo", Scripted(hang)).run(user_msg=TASK)
    await begun.wait()
    await handler.cancel_run()
    await asyncio.sleep(0)

    recording.check()
    assert [outcome for outcome, _ in recording.ends] == ["cancelled"]


@pytest.mark.parametrize("where", ["model", "tool"])
async def test_a_run_whose_handler_is_cancelled_ends_after_all_in_it(
    recording: Recording, where: str
) -> None:
    begun = asyncio.Event()

    async def hang() -> str:
        """Wait for long."""
        begun.set()
        await asyncio.sleep(60)
        return ""

    answers = [hang] if where == "model" else [[ask("c1", "hang")]]
    handler = agent("solo", Scripted(*answers), hang).run(user_msg=TASK)
    await begun.wait()
    handler.cancel()
    with pytest.raises(asyncio.CancelledError):
        await handler
    await asyncio.sleep(0)

    recording.check()
    assert recording.ends == [("cancelled", "CancelledError")]
    assert isinstance(recording.events[-1], RunFinished)
    last = recording.models if where == "model" else recording.of(ToolReturned)
    assert [event.error for event in last] == ["asyncio.exceptions.CancelledError"]


async def test_a_stream_that_is_left_does_not_end_the_run(recording: Recording) -> None:
    handler = healthy().run(user_msg=TASK)
    async for _ in handler.stream_events():
        break
    assert recording.ends == []
    assert str(await handler) == ANSWER

    recording.check()
    assert recording.ends == [DONE]


async def test_a_context_that_is_passed_again_goes_on_with_the_conversation(
    recording: Recording,
) -> None:
    lone = agent("solo", Scripted("Hello.", "Hello again."))
    ctx = Context(lone)
    await lone.run(user_msg="Hi.", ctx=ctx)
    await lone.run(user_msg="Hi again.", ctx=ctx)
    await agent("other", Scripted("Who?")).run(user_msg="Hi.")

    recording.check()
    first, second, third = [start.conversation_id for start in recording.of(RunStarted)]
    assert first == second != third
    assert len({start.run_id for start in recording.of(RunStarted)}) == 3


async def test_two_runs_at_once(recording: Recording) -> None:
    team = agent("solo", Scripted(*["Yes."] * 2))
    await asyncio.gather(team.run(user_msg="One?"), team.run(user_msg="Two?"))

    recording.check()
    assert [start.task for start in recording.of(RunStarted)] == ["One?", "Two?"]
    assert len({message.run_id for message in recording.of(MessageSent)}) == 2


async def test_agents_made_before_are_seen_and_none_after() -> None:
    recording, early, late = Recording(), healthy(), healthy()
    instrumentor = LlamaIndexInstrumentor()
    instrumentor.install(recording.emitter)
    instrumentor.install(recording.emitter)  # twice is once
    in_place = instrumentor.hooks()
    in_place.pop("AgentWorkflow._generate_early_stopping_response")  # since 0.14.13 or so
    assert all(in_place.values())
    await early.run(user_msg=TASK)
    seen = len(recording.events)
    instrumentor.uninstall()
    await late.run(user_msg=TASK)

    recording.check()
    assert len(recording.of(MessageSent)) == 3
    assert len(recording.events) == seen
    assert not hasattr(AgentWorkflow.call_tool, "__mastwatch_site__")
    assert not hasattr(Scripted.astream_chat, "__mastwatch_site__")


async def test_a_library_below_finds_the_call_that_is_under_way(recording: Recording) -> None:
    found: list[bool] = []

    async def below() -> str:
        found.append(recording.emitter.model_call_here() is not None)
        return ANSWER

    await agent("solo", Scripted(below)).run(user_msg=TASK)

    assert found == [True]
    assert recording.emitter.model_call_here() is None


async def test_a_model_that_a_tool_asks_is_a_call_and_no_utterance(recording: Recording) -> None:
    inner = Scripted("inside")

    async def think(question: str) -> str:
        """Think."""
        return str((await inner.achat([])).message.content)

    await agent("solo", Scripted([ask("c1", "think", question="?")], ANSWER), think).run(
        user_msg=TASK
    )

    recording.check()
    assert len(recording.models) == 3
    assert [text for _, text in recording.said] == ["", ANSWER]


async def test_beside_openinference_the_spans_are_theirs(recording: Recording) -> None:
    openinference = pytest.importorskip("openinference.instrumentation.llama_index")
    other = openinference.LlamaIndexInstrumentor()
    other.instrument(tracer_provider=recording.provider)
    try:
        assert str(await healthy().run(user_msg=TASK)) == ANSWER
    finally:
        other.uninstrument()

    assert len(recording.of(MessageSent)) == 3
    assert len(recording.tools) == 2
    assert recording.ends == [DONE]
    scopes = {span.instrumentation_scope.name for span in recording.spans}
    assert scopes == {"openinference.instrumentation.llama_index"}
    carried = [
        dict(span.attributes or {}).get("mastwatch.message.index") for span in recording.spans
    ]
    assert sorted(index for index in carried if index is not None) == [0, 2, 4]
