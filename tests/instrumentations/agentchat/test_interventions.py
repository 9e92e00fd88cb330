"""Runs that the host lets mastwatch end, or speak in: real AgentChat, all of mastwatch, no mock."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import MaxMessageTermination
from autogen_agentchat.teams import (
    MagenticOneGroupChat,
    RoundRobinGroupChat,
    SelectorGroupChat,
    Swarm,
)
from prometheus_client import CollectorRegistry

import mastwatch
from apps.agentchat_apps import Scripted, call, ledger, plans
from mastwatch.events import Event, RunFinished
from mastwatch.findings import Finding
from mastwatch.interventions import RunHalted
from mastwatch.sink import Sink

HALT = {"mode": "FM-1.3", "action": "halt", "severity": "warn"}
NUDGE = {"mode": "FM-1.3", "action": "nudge", "severity": "warn"}


class Watched(Sink):
    """What became of the runs."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.findings: list[Finding] = []
        self.events: list[Event] = []

    def on_event(self, event: Event, framework: str) -> None:
        self.events.append(event)

    def on_finding(self, finding: Finding) -> None:
        self.findings.append(finding)

    def notices(self, name: str) -> float:
        labels = {"name": name, "framework": "agentchat"}
        return self.registry.get_sample_value("mastwatch_notices_total", labels) or 0

    @property
    def ends(self) -> list[tuple[str, str]]:
        found = [event for event in self.events if isinstance(event, RunFinished)]
        return [(event.outcome, event.reason) for event in found]


@contextlib.contextmanager
def acting(*actions: dict[str, Any]) -> Iterator[Watched]:
    seen = Watched()
    with mastwatch.instrument(
        frameworks=["agentchat"], registry=seen.registry, actions=list(actions)
    ) as handle:
        handle.add_sink(seen)
        yield seen


def search(query: str) -> str:
    """Search the archive."""
    return "Nothing was found about it in the archive."


def seeker(*lines: Any, **more: Any) -> tuple[AssistantAgent, Scripted]:
    again = [call("search", str(n), query="the lost log") for n in range(40)]
    model = Scripted(*(lines or again))
    return AssistantAgent("seeker", model, tools=[search], **more), model


def test_a_loop_is_flagged_while_it_goes_on() -> None:
    with acting() as seen:
        agent, _ = seeker()
        limit = MaxMessageTermination(12)
        asyncio.run(RoundRobinGroupChat([agent], termination_condition=limit).run(task="Find it."))
        loops = [finding for finding in seen.findings if finding.mode == "FM-1.3"]
        assert {finding.agent for finding in loops} == {"seeker"}
        assert seen.ends[0][0] == "limit"


def test_a_halted_team_returns_its_result_and_can_run_again() -> None:
    with acting(HALT) as seen:
        agent, model = seeker()
        team = RoundRobinGroupChat([agent], termination_condition=MaxMessageTermination(60))
        result = asyncio.run(team.run(task="Find it."))
        assert result.stop_reason == "halted by mastwatch: FM-1.3"
        assert seen.ends == [("cancelled", "halted by mastwatch: FM-1.3")]
        assert 3 <= len(model.requests) <= 5
        team = RoundRobinGroupChat([agent], max_turns=1)
        model.lines = ["Found."]
        assert asyncio.run(team.run()).messages[-1].to_text() == "Found."


def repeated(kind: str, agent: AssistantAgent) -> Any:
    limit = MaxMessageTermination(60)
    if kind == "swarm":
        return Swarm([agent], termination_condition=limit)
    if kind == "selector":
        other = AssistantAgent("other", Scripted())
        return SelectorGroupChat(
            [agent, other],
            Scripted(*["seeker"] * 60),
            allow_repeated_speaker=True,
            termination_condition=limit,
        )
    asks = [ledger(False, True, "seeker", f"Step {n}: look into box {n * 7}.") for n in range(40)]
    return MagenticOneGroupChat([agent], Scripted("Facts.", "Plan.", *asks), max_turns=30)


@pytest.mark.parametrize("kind", ["swarm", "selector", "magentic"])
def test_every_kind_of_team_can_be_halted(kind: str) -> None:
    with acting(HALT) as seen:
        agent, model = seeker()
        result = asyncio.run(repeated(kind, agent).run(task="Find it."))
        assert result.stop_reason == "halted by mastwatch: FM-1.3"
        assert seen.ends == [("cancelled", "halted by mastwatch: FM-1.3")]
        assert 3 <= len(model.requests) <= 5


def test_a_team_as_a_participant_is_halted_with_the_one_around_it() -> None:
    with acting(HALT) as seen:
        agent, model = seeker()
        limit = MaxMessageTermination(60)
        inner = RoundRobinGroupChat([agent], termination_condition=limit, name="inner")
        outer = RoundRobinGroupChat([inner], termination_condition=limit, name="outer")
        result = asyncio.run(outer.run(task="Find it."))
        assert result.stop_reason == "halted by mastwatch: FM-1.3"
        assert {outcome for outcome, _ in seen.ends} == {"cancelled"}
        assert 3 <= len(model.requests) <= 5


def test_a_halted_team_counts_anew_when_run_again() -> None:
    async def main(team: RoundRobinGroupChat, model: Scripted) -> tuple[str | None, str | None]:
        first = await team.run(task="Find it.")
        model.lines = [f"Place {n} was empty, so I look elsewhere." for n in range(9)]
        second = await team.run(task="Think.")
        return first.stop_reason, second.stop_reason

    with acting(HALT):
        agent, model = seeker()
        team = RoundRobinGroupChat([agent], termination_condition=MaxMessageTermination(6))
        halted, counted = asyncio.run(main(team, model))
        assert halted == "halted by mastwatch: FM-1.3"
        assert counted is not None
        assert counted.startswith("Maximum number of messages 6 reached")


def test_an_agent_on_its_own_is_halted_at_its_next_model_call() -> None:
    with acting(HALT) as seen:
        agent, model = seeker(max_tool_iterations=40)
        with pytest.raises(RunHalted):
            asyncio.run(agent.run(task="Find it."))
        assert seen.ends == [("cancelled", "halted by mastwatch: FM-1.3")]
        assert 3 <= len(model.requests) <= 5


def test_a_nudge_is_said_once_and_kept_in_no_history() -> None:
    with acting(NUDGE):
        agent, model = seeker(max_tool_iterations=6)
        asyncio.run(agent.run(task="Find it."))
        nudged = [
            n
            for n, request in enumerate(model.requests)
            if any(getattr(message, "source", "") == "mastwatch" for message in request)
        ]
        assert len(nudged) >= 1
        history = asyncio.run(agent.model_context.get_messages())
        assert not [m for m in history if getattr(m, "source", "") == "mastwatch"]


def test_healthy_teams_are_left_alone() -> None:
    with acting({"mode": "*", "action": "halt", "severity": "suspect"}) as seen:
        worker = AssistantAgent("worker", Scripted("It is open.", "Until six, it says."))
        team = MagenticOneGroupChat([worker], Scripted(*plans()), max_stalls=1)
        task = (
            "When does the shop in Harbour Street close? Ask around and look at its door, then say."
        )
        asyncio.run(team.run(task=task))
        assert seen.findings == []
        assert seen.ends == [("completed", "ended by its manager")]
        assert seen.notices("replan") == 1
