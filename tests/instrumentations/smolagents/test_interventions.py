"""Runs that the host lets mastwatch end, or speak in."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry
from smolagents import LogLevel, Tool, ToolCallingAgent, tool
from smolagents.utils import AgentError

import mastwatch
from apps.smolagents_model import Scripted, answers, asks
from mastwatch.events import Event, RunFinished, ToolReturned
from mastwatch.sink import Sink

HALT = {"mode": "FM-1.3", "action": "halt", "severity": "warn"}
NUDGE = {"mode": "FM-1.3", "action": "nudge", "severity": "warn", "message": "Try something else."}


class Heard(Sink):
    def __init__(self) -> None:
        self.events: list[Event] = []

    def on_event(self, event: Event, framework: str) -> None:
        self.events.append(event)


def look() -> Tool:
    @tool
    def look(city: str) -> str:
        """Look at the sky.

        Args:
            city: Where.
        """
        return f"rain in {city}"

    return look


def looping(**options: object) -> ToolCallingAgent:
    again = [asks(("look", {"city": "Ulm"}, f"c{n}")) for n in range(9)]
    return ToolCallingAgent(
        tools=[look()],
        model=Scripted(*again, answers("Rain.")),
        verbosity_level=LogLevel.OFF,
        **options,
    )


@pytest.mark.parametrize("managed", [False, True])
def test_halt_interrupts_after_the_step(managed: bool) -> None:
    agent = looping(name="looker", description="Looks.")
    if managed:
        script = (
            asks(("looker", {"task": "Look.", "additional_args": {}}, "l1")),
            answers("Rain."),
        )
        agent = ToolCallingAgent(
            tools=[],
            model=Scripted(*script),
            managed_agents=[agent],
            verbosity_level=LogLevel.OFF,
        )
    heard = Heard()
    with mastwatch.instrument(
        frameworks=["smolagents"], registry=CollectorRegistry(), actions=[HALT]
    ) as handle:
        handle.add_sink(heard)
        with pytest.raises(AgentError, match="interrupted"):
            agent.run("Go on.")
    [end] = [e for e in heard.events if isinstance(e, RunFinished) and not e.branch]
    assert (end.outcome, end.reason) == ("cancelled", "halted by mastwatch: FM-1.3")
    assert len([event for event in heard.events if isinstance(event, ToolReturned)]) < 8


def test_nudge_is_in_one_request_and_in_no_memory() -> None:
    agent = looping()
    with mastwatch.instrument(
        frameworks=["smolagents"], registry=CollectorRegistry(), actions=[NUDGE]
    ):
        agent.run("Go on.")
    told = [any("Try something else." in str(m) for m in sent) for sent in agent.model.requests]
    assert told.count(True) == 1
    assert "Try something else." not in str(agent.write_memory_to_messages())
