"""What the host lets mastwatch do to a run of agents: end it, or say something in it."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry

import mastwatch
from apps.llama_index_agents import Scripted, agent, ask, population
from mastwatch.interventions import SPEAKER, RunHalted

TASK = "How many people live in Bonn?"


def acting(action: str) -> mastwatch.Handle:
    rule = {"mode": ["FM-1.3"], "severity": "warn", "action": action}
    return mastwatch.instrument(
        frameworks=["llama_index"], registry=CollectorRegistry(), actions=[rule]
    )


def again(times: int) -> list[object]:
    return [[ask(f"c{number}", "population", city="Bonn")] for number in range(times)]


async def test_a_run_that_goes_in_circles_is_ended() -> None:
    model = Scripted(*again(8))
    with acting("halt"), pytest.raises(RunHalted) as halted:
        await agent("solo", model, population).run(user_msg=TASK)

    assert len(model.asked) < 8
    assert halted.value.finding is not None
    assert halted.value.finding.agent == "solo"


async def test_an_agent_that_goes_in_circles_is_told_once() -> None:
    model = Scripted(*again(5), "I see.")
    with acting("nudge"):
        await agent("solo", model, population).run(user_msg=TASK)

    said = [m.additional_kwargs.get("name") for asked in model.asked for m in asked]
    assert said.count(SPEAKER) == 1
