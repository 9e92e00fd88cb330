"""What the host lets mastwatch do to a crew: end it, or say something in it."""

from __future__ import annotations

import pytest
from crewai import Crew
from prometheus_client import CollectorRegistry

import mastwatch
from apps.crewai_crews import Scripted, act, agent, final, pair, population, task
from mastwatch.interventions import SPEAKER, RunHalted

AGAIN = act("Let me see.", "population", city="Bonn")


def acting(action: str) -> mastwatch.Handle:
    rule = {"mode": ["FM-1.3"], "severity": "warn", "action": action}
    return mastwatch.instrument(frameworks=["crewai"], registry=CollectorRegistry(), actions=[rule])


def test_a_crew_that_goes_in_circles_is_ended() -> None:
    research, write = Scripted(*[AGAIN] * 8), Scripted(final("nor this"))
    with acting("halt"), pytest.raises(RunHalted) as halted:
        pair(research, write).kickoff({"city": "Bonn"})

    assert len(research.asked) < 8
    assert write.asked == []
    assert halted.value.finding is not None
    assert halted.value.finding.agent == "Researcher"


def test_an_agent_that_goes_in_circles_is_told_once() -> None:
    model = Scripted(*[AGAIN] * 5, final("I see."))
    worker = agent("Researcher", model, population)
    with acting("nudge"):
        Crew(agents=[worker], tasks=[task("Count.", worker)]).kickoff()

    said = [m.get("name") for asked in model.asked for m in asked]
    assert said.count(SPEAKER) == 1
