"""Runs that the host lets mastwatch end, or speak in."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from agents import Agent, Runner, function_tool
from prometheus_client import CollectorRegistry

import mastwatch
from apps.openai_agents_model import Scripted, calls, says
from mastwatch.events import Event, MessageSent, RunFinished
from mastwatch.interventions import RunHalted
from mastwatch.sink import Sink

HALT = {"mode": "FM-1.3", "action": "halt", "severity": "warn"}
NUDGE = {"mode": "FM-1.3", "action": "nudge", "severity": "warn", "message": "Try something else."}


class Heard(Sink):
    def __init__(self) -> None:
        self.events: list[Event] = []

    def on_event(self, event: Event, framework: str) -> None:
        self.events.append(event)


@function_tool
def look(city: str) -> str:
    return f"rain in {city}"


def looping() -> Agent:
    again = [calls("look", '{"city": "Ulm"}', f"c{n}") for n in range(9)]
    return Agent(name="looker", tools=[look], model=Scripted(*again, says("It rains.")))


@pytest.mark.parametrize("streamed", [False, True])
def test_halt_raises_before_the_next_model_call(streamed: bool) -> None:
    heard = Heard()

    async def main() -> Any:
        if not streamed:
            return await Runner.run(looping(), "hello", max_turns=20)
        async for _ in Runner.run_streamed(looping(), "hello", max_turns=20).stream_events():
            pass
        return None

    with mastwatch.instrument(
        frameworks=["openai_agents"], registry=CollectorRegistry(), actions=[HALT]
    ) as handle:
        handle.add_sink(heard)
        with pytest.raises(RunHalted) as halted:
            asyncio.run(main())
    assert halted.value.finding is not None
    [end] = [event for event in heard.events if isinstance(event, RunFinished)]
    assert (end.outcome, end.reason) == ("cancelled", "halted by mastwatch: FM-1.3")
    said = [event for event in heard.events if isinstance(event, MessageSent)]
    assert len(said) < 9


@pytest.mark.parametrize("streamed", [False, True])
def test_nudge_is_in_one_request_and_in_no_history(streamed: bool) -> None:
    agent = looping()

    async def main() -> Any:
        if not streamed:
            return await Runner.run(agent, "hello", max_turns=20)
        result = Runner.run_streamed(agent, "hello", max_turns=20)
        async for _ in result.stream_events():
            pass
        return result

    with mastwatch.instrument(
        frameworks=["openai_agents"], registry=CollectorRegistry(), actions=[NUDGE]
    ):
        result = asyncio.run(main())
    assert isinstance(agent.model, Scripted)
    told = [any("Try something else." in str(i) for i in given) for given in agent.model.inputs]
    assert told.count(True) == 1
    assert "Try something else." not in str(result.to_input_list())
