"""Sync, async, streams, threads, flows; early ends; two runs at once; install and uninstall."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from crewai import Crew
from crewai.flow.async_feedback import HumanFeedbackPending
from crewai.flow.flow import Flow, listen, start
from crewai.flow.human_feedback import human_feedback

from apps.crewai_crews import (
    Scripted,
    act,
    agent,
    chunk,
    final,
    healthy,
    pair,
    population,
    task,
)
from mastwatch.events import HumanReplied, MessageSent, RunFinished, RunStarted
from mastwatch.testing.recording import Recording
from mastwatch_instrumentations.crewai import CrewAIInstrumentor

SAID = [
    ("Researcher", "I look it up."),
    ("Researcher", "330000 people live in Bonn."),
    ("Writer", "Bonn has 330000 inhabitants."),
]
DONE = ("completed", "crew_kickoff_completed")
BONN = {"city": "Bonn"}


@pytest.mark.parametrize("name", ["kickoff_async", "akickoff"])
async def test_async_kickoffs_are_seen_as_plain_ones(recording: Recording, name: str) -> None:
    result = await getattr(healthy(), name)(BONN)

    assert str(result) == SAID[-1][1]
    recording.check()
    assert recording.said == SAID
    assert recording.tools == [("Researcher", "population", BONN)]
    assert recording.ends == [DONE]


def test_a_kickoff_for_each_input_is_a_run_each(recording: Recording) -> None:
    lines = [final("facts")] * 2
    crew = pair(Scripted(*lines), Scripted(final("a"), final("b")))
    crew.kickoff_for_each([BONN, {"city": "Köln"}])

    recording.check()
    assert [(start.task or "")[:42] for start in recording.of(RunStarted)] == [
        "Find out how many people live in Bonn.\nWri",
        "Find out how many people live in Köln.\nWri",
    ]
    assert recording.ends == [DONE, DONE]


async def test_two_crews_at_once_are_two_runs(recording: Recording) -> None:
    await asyncio.gather(healthy().akickoff(BONN), healthy().kickoff_async(BONN))

    recording.check()
    runs = [start.run_id for start in recording.of(RunStarted)]
    assert len(set(runs)) == 2
    for run in runs:
        assert [m.sender for m in recording.of(MessageSent, run_id=run)] == [s for s, _ in SAID]


def test_a_crew_in_a_thread_is_a_run(recording: Recording) -> None:
    thread = threading.Thread(target=lambda: healthy().kickoff(BONN))
    thread.start()
    thread.join()

    recording.check()
    assert recording.said == SAID


def test_a_stream_is_a_run_from_its_firstchunk(recording: Recording) -> None:
    stream = healthy(stream=True).kickoff(BONN)
    assert recording.events == []
    list(stream)

    assert str(stream.result) == SAID[-1][1]
    recording.check()
    assert recording.said == SAID
    assert recording.ends == [DONE]


async def test_an_async_stream_is_a_run_as_well(recording: Recording) -> None:
    stream = await healthy(stream=True).akickoff(BONN)
    _ = [chunk async for chunk in stream]

    recording.check()
    assert recording.said == SAID
    assert recording.ends == [DONE]


async def test_an_async_stream_that_is_left_is_an_abandoned_run(recording: Recording) -> None:
    go_on = threading.Event()

    def wait() -> str:
        chunk("half")
        go_on.wait(10)
        return final("late")

    stream = await pair(Scripted(wait), Scripted(final("later")), stream=True).akickoff(BONN)
    async for _ in stream:
        break
    closing = asyncio.create_task(stream._async_iterator.aclose())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    go_on.set()
    await closing

    assert recording.ends == [("abandoned", "the stream was left")]


def test_a_plain_stream_that_is_left_is_an_abandoned_run(recording: Recording) -> None:
    go_on = threading.Event()

    def wait() -> str:
        chunk("half")
        go_on.wait(10)
        return final("late")

    stream = pair(Scripted(wait), Scripted(final("later")), stream=True).kickoff(BONN)
    for _ in stream:
        break
    go_on.set()
    stream.close()

    recording.check()
    assert recording.ends == [("abandoned", "the stream was left")]


@pytest.mark.parametrize("name", ["kickoff_async", "akickoff"])
async def test_a_cancelled_kickoff_is_a_cancelled_run(recording: Recording, name: str) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def block() -> str:
        begun.set()
        go_on.wait(10)
        return final("late")

    crew = pair(Scripted(block), Scripted(final("later")))
    running = asyncio.create_task(getattr(crew, name)(BONN))
    await asyncio.to_thread(begun.wait, 10)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert recording.ends == [("cancelled", "CancelledError")]
    go_on.set()
    assert len(recording.of(RunStarted)) == 1


def test_what_a_cancelled_crew_still_does_on_its_thread_starts_no_run(
    recording: Recording,
) -> None:
    begun, go_on, over = threading.Event(), threading.Event(), threading.Event()

    def block() -> str:
        begun.set()
        go_on.wait(10)
        return final("late")

    def last() -> str:
        over.set()
        return final("later")

    async def main() -> None:
        crew = pair(Scripted(block), Scripted(last))
        running = asyncio.create_task(crew.kickoff_async(BONN))
        await asyncio.to_thread(begun.wait, 10)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        go_on.set()

    asyncio.run(main())
    assert over.wait(10)
    assert len(recording.of(RunStarted)) == len(recording.of(RunFinished)) == 1
    assert recording.said == []


class Tour(Flow[Any]):
    """A flow around a crew and an agent."""

    @start()
    def facts(self) -> str:
        return str(healthy().kickoff(BONN))

    @listen(facts)
    async def polish(self, text: str) -> str:
        editor = agent("Editor", Scripted(final("Bonn: 330000.")))
        return (await editor.kickoff_async(f"Shorten: {text}")).raw


def test_a_flow_is_a_run_around_its_crews(recording: Recording) -> None:
    assert Tour().kickoff() == "Bonn: 330000."

    recording.check()
    assert [(s.name, s.branch) for s in recording.of(RunStarted)] == [("Tour", ""), ("crew", "1")]
    assert recording.said == [*SAID, ("Editor", "Bonn: 330000.")]
    assert recording.of(MessageSent)[-1].branch == ""
    assert recording.ends == [DONE, ("completed", "flow_finished")]


class Later:
    """A person who answers another time."""

    def request_feedback(self, context: Any, flow: Any) -> str:
        raise HumanFeedbackPending(context=context)


class Reviewed(Flow[Any]):
    @start()
    @human_feedback(message="Fine?", provider=Later())
    def draft(self) -> str:
        return str(healthy().kickoff(BONN))

    @listen(draft)
    def publish(self, _: Any) -> str:
        return "published"


def test_a_flow_that_waits_for_a_person_is_paused_and_goes_on(recording: Recording) -> None:
    waiting = Reviewed().kickoff()
    assert recording.ends[-1] == ("paused", "human_feedback_pending")
    assert Reviewed.from_pending(waiting.context.flow_id).resume("go ahead") == "published"

    recording.check()
    assert len({event.run_id for event in recording.events}) == 1
    assert recording.of(RunStarted)[-1].resumed
    assert [reply.text for reply in recording.of(HumanReplied)] == ["go ahead"]
    assert recording.ends[-1] == ("completed", "flow_finished")


def test_an_agent_by_itself_is_a_small_run(recording: Recording) -> None:
    lone = agent(
        "Researcher", Scripted(act("I look.", "population", city="Bonn"), final("done")), population
    )
    assert lone.kickoff("How many people live in Bonn?").raw == "done"

    recording.check()
    (begun,) = recording.of(RunStarted)
    assert (begun.name, "How many people" in (begun.task or "")) == ("Researcher", True)
    assert recording.said == [("Researcher", "I look."), ("Researcher", "done")]
    assert recording.tools == [("Researcher", "population", BONN)]
    assert recording.ends == [("completed", "agent_execution_completed")]


def test_crews_made_before_are_seen_and_none_after() -> None:
    recording, crew, late = Recording(), healthy(), healthy()
    instrumentor = CrewAIInstrumentor()
    instrumentor.install(recording.emitter)
    instrumentor.install(recording.emitter)  # twice is once
    hooks = instrumentor.hooks()
    assert all(hooks[name] for name in ("Crew.kickoff", "ToolUsage.use", "BaseLLM.call"))
    crew.kickoff(BONN)
    seen = len(recording.events)
    instrumentor.uninstall()
    late.kickoff(BONN)

    recording.check()
    assert recording.said == SAID
    assert len(recording.events) == seen
    assert not hasattr(Crew.kickoff, "__mastwatch_site__")
    assert not hasattr(Scripted.call, "__mastwatch_site__")


def test_a_class_of_models_made_after_install_is_seen(recording: Recording) -> None:
    class Own(Scripted):
        def call(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            return super().call(messages)

    worker = agent("Writer", Own(final("mine")))
    Crew(agents=[worker], tasks=[task("Write.", worker)]).kickoff()

    recording.check()
    assert recording.said == [("Writer", "mine")]
    assert len(recording.models) == 1


def test_a_run_that_others_trace_has_no_spans_of_ours() -> None:
    class Traced(CrewAIInstrumentor):
        @classmethod
        def traced_by(cls) -> tuple[str, ...]:
            return ("another",)

    recording, instrumentor = Recording(), Traced()
    instrumentor.install(recording.emitter)
    healthy().kickoff(BONN)
    instrumentor.uninstall()

    assert recording.said == SAID
    # No span of theirs is current here, so each message has a short one; no other span is ours.
    assert {span.name.split()[0] for span in recording.spans} == {"agent_message"}


def test_a_library_below_finds_the_call_that_is_under_way(recording: Recording) -> None:
    found: list[bool] = []

    def below() -> str:
        call = recording.emitter.model_call_here()
        found.append(call is not None)
        if call is not None:
            call.enrich(input_tokens=7, output_tokens=3)
        return final("done")

    worker = agent("Writer", Scripted(below))
    Crew(agents=[worker], tasks=[task("Write.", worker)]).kickoff()

    assert found == [True]
    (model,) = recording.models
    assert (model.input_tokens, model.output_tokens) == (7, 3)
    assert recording.emitter.model_call_here() is None
