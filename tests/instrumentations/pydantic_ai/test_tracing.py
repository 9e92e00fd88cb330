"""Pydantic AI traces itself: what we switch on, what leaves the process, what does not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from opentelemetry import trace
from pydantic_ai import (
    Agent,
    InstrumentationSettings,
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

import mastwatch
from mastwatch.events import (
    MessageSent,
    ModelCalled,
    RunFinished,
    RunStarted,
    ToolCalled,
    ToolReturned,
)

QUESTION = "How is the weather on the coast?"
DRIZZLE = "Drizzle all day long in Kiel"
ANSWER = "Take a coat when you go to the harbour."


def agent(*said: ToolCallPart | str, **more: Any) -> Agent[None, str]:
    turns = iter(said)

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        turn = next(turns)
        return ModelResponse(parts=[TextPart(turn) if isinstance(turn, str) else turn])

    made = Agent(FunctionModel(answer, model_name="scripted-1"), name="guide", **more)

    @made.tool_plain
    def weather(city: str) -> str:
        with trace.get_tracer("host").start_as_current_span("look outside"):
            return f"Drizzle all day long in {city}"

    return made


def asks(city: str = "Kiel") -> ToolCallPart:
    return ToolCallPart("weather", {"city": city}, "call_1")


BEFORE = agent(asks(), ANSWER)
"""Made before ``instrument()``."""


def test_a_run_is_told_whole(heard: Any) -> None:
    assert BEFORE.run_sync(QUESTION).output == ANSWER
    (started,), (finished,) = heard.of(RunStarted), heard.of(RunFinished)
    assert (started.framework, started.name, started.task) == ("pydantic_ai", "guide", QUESTION)
    assert finished.outcome == "completed"
    said = [(m.sender, m.text, [c.name for c in m.tool_calls]) for m in heard.of(MessageSent)]
    assert said == [("guide", "", ["weather"]), ("guide", ANSWER, [])]
    (called,), (returned,) = heard.of(ToolCalled), heard.of(ToolReturned)
    assert (called.agent, called.arguments, called.call_id) == ("guide", {"city": "Kiel"}, "call_1")
    assert (returned.result, returned.error) == (DRIZZLE, None)
    assert [call.model for call in heard.of(ModelCalled)] == ["scripted-1", "scripted-1"]


def test_no_text_leaves_and_no_span_loses_its_parent(heard: Any) -> None:
    agent(asks(), ANSWER, instructions="Be brief with sailors.").run_sync(QUESTION)
    names = sorted(span.name for span in heard.spans)
    tool, turn = "execute_tool weather", "invoke_agent guide"
    assert names == ["chat scripted-1", "chat scripted-1", tool, turn, "look outside"]
    ids = {span.context.span_id for span in heard.spans}
    assert all(span.parent.span_id in ids for span in heard.spans if span.parent)
    exported = "".join(span.to_json() for span in heard.spans)
    for text in (QUESTION, DRIZZLE, ANSWER, "sailors", "Kiel"):
        assert text not in exported


def test_a_failing_tool_is_an_error_without_its_words(heard: Any) -> None:
    broken = agent(asks())
    error = OSError("the barometer of Kiel is gone")

    @broken.tool_plain
    def measure(city: str) -> str:
        raise error

    turns = iter([ToolCallPart("measure", {"city": "Kiel"}, "call_2")])
    broken.model = FunctionModel(lambda *_: ModelResponse(parts=[next(turns)]))
    with pytest.raises(OSError, match="barometer") as raised:
        broken.run_sync(QUESTION)
    assert raised.value is error
    (returned,) = heard.of(ToolReturned)
    assert returned.error == "OSError"
    assert [event.outcome for event in heard.of(RunFinished)] == ["error"]
    failed = [span for span in heard.spans if not span.status.is_ok]
    assert {span.name.split()[0] for span in failed} >= {"execute_tool", "invoke_agent"}
    assert "barometer" not in "".join(span.to_json() for span in heard.spans)


def test_a_cancelled_run_passes(heard: Any) -> None:
    waiting = agent()

    async def hang(*_: Any) -> ModelResponse:
        await asyncio.sleep(60)
        raise AssertionError

    waiting.model = FunctionModel(hang)

    async def main() -> None:
        run = asyncio.create_task(waiting.run(QUESTION))
        await asyncio.sleep(0.05)
        run.cancel()
        await run

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(main())
    assert {event.outcome for event in heard.of(RunFinished)} <= {"cancelled"}
    assert not trace.get_current_span().get_span_context().is_valid


def test_a_stream_stays_lazy_and_may_be_left(heard: Any) -> None:
    asked: list[int] = []

    async def words(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        for number, word in enumerate(ANSWER.split()):
            asked.append(number)
            yield f"{word} "

    streaming = Agent(FunctionModel(stream_function=words), name="guide")

    async def main(leave: bool) -> list[str]:
        async with streaming.run_stream(QUESTION) as run:
            said = []
            async for text in run.stream_text(delta=True, debounce_by=None):
                said.append(text)
                if leave:
                    break
            return said

    assert "".join(asyncio.run(main(leave=False))).strip() == ANSWER
    assert [message.text for message in heard.of(MessageSent)] == [f"{ANSWER} "]
    asked.clear()
    asyncio.run(main(leave=True))
    assert len(asked) < len(ANSWER.split())
    assert len(heard.of(RunFinished)) == len(heard.of(RunStarted)) == 2
    assert not trace.get_current_span().get_span_context().is_valid


def test_concurrent_runs_stay_apart(heard: Any) -> None:
    async def main() -> None:
        pair = [agent(asks(city), ANSWER) for city in ("Kiel", "Husum")]
        await asyncio.gather(*(each.run(QUESTION) for each in pair))

    asyncio.run(main())
    calls = heard.of(ToolCalled)
    assert len({call.run_id for call in calls}) == len(calls) == 2
    results = {event.run_id: event.result for event in heard.of(ToolReturned)}
    assert all(results[call.run_id].endswith(call.arguments["city"]) for call in calls)


def test_the_hosts_own_settings_stay() -> None:
    mine = InstrumentationSettings()
    Agent.instrument_all(mine)
    try:
        with mastwatch.instrument(frameworks=["pydantic_ai"], metrics="none"):
            assert Agent._instrument_default is mine
        assert Agent._instrument_default is mine
    finally:
        Agent.instrument_all(False)


def test_uninstrument_takes_back_what_we_chose() -> None:
    with mastwatch.instrument(frameworks=["pydantic_ai"], metrics="none"):
        assert Agent._instrument_default is not False
        chosen_later = InstrumentationSettings()
        Agent.instrument_all(chosen_later)
    assert Agent._instrument_default is chosen_later
    Agent.instrument_all(False)
    with mastwatch.instrument(frameworks=["pydantic_ai"], metrics="none"):
        pass
    assert Agent._instrument_default is False


def test_what_a_hook_of_ours_sees_in_a_tool_is_a_branch(heard: Any) -> None:
    made = agent(ToolCallPart("ask_desk", {}, "call_1"), ANSWER)

    @made.tool_plain
    def ask_desk() -> str:
        with mastwatch.run("desk"):
            mastwatch.message("clerk", DRIZZLE)
        return DRIZZLE

    assert made.run_sync(QUESTION).output == ANSWER
    starts = [(started.name, started.branch) for started in heard.of(RunStarted)]
    assert starts == [("guide", ""), ("desk", "1")]
    said = [(message.branch, message.sender) for message in heard.of(MessageSent)]
    assert said == [("", "guide"), ("1", "clerk"), ("", "guide")]
    spans = {span.name: span for span in heard.spans}
    tool, message = spans["execute_tool ask_desk"], spans["agent_message clerk"]
    assert message.parent.span_id == tool.context.span_id
