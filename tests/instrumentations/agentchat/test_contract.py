"""How a team is meant to stop, as its termination condition says it."""

from __future__ import annotations

from typing import Any

import pytest
from autogen_agentchat.agents import AssistantAgent, UserProxyAgent
from autogen_agentchat.conditions import (
    ExternalTermination,
    MaxMessageTermination,
    TextMentionTermination,
)
from autogen_agentchat.teams import MagenticOneGroupChat, RoundRobinGroupChat

from apps.agentchat_apps import Scripted
from mastwatch_instrumentations.agentchat.contract import prompts, read_contract


def agent(name: str, **more: Any) -> AssistantAgent:
    return AssistantAgent(name, Scripted(), **more)


def contract(condition: Any = None, members: Any = None, **more: Any) -> tuple[object, ...]:
    members = members or [agent("a"), agent("b")]
    team = RoundRobinGroupChat(members, termination_condition=condition, **more)
    found = read_contract(team)
    return found.tokens, found.max_messages, found.votes, found.uncapped


TEXT, OTHER = TextMentionTermination, TextMentionTermination("STOP")


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (None, ((), None, 1, True)),
        (TEXT("DONE"), (("DONE",), None, 1, True)),
        (MaxMessageTermination(9), ((), 8, 1, False)),
        (TEXT("DONE") | OTHER | MaxMessageTermination(9), (("DONE", "STOP"), 8, 1, False)),
        (TEXT("DONE", ["a"]) & TEXT("DONE", ["b"]), (("DONE",), None, 2, True)),
        (TEXT("DONE") & OTHER, ((), None, 1, False)),
        (MaxMessageTermination(9) & MaxMessageTermination(5), ((), 8, 1, False)),
        (TEXT("DONE") & MaxMessageTermination(9), ((), None, 1, False)),
        (TEXT("DONE") | ExternalTermination(), (("DONE",), None, 1, False)),
        (MaxMessageTermination(50_000), ((), None, 1, True)),
    ],
)
def test_conditions(condition: Any, expected: tuple[object, ...]) -> None:
    assert contract(condition) == expected


def test_turns_are_a_limit_where_a_turn_says_one_thing() -> None:
    assert contract(max_turns=4) == ((), 4, 1, False)
    talks_on = [agent("a", max_tool_iterations=3), agent("b")]
    assert contract(members=talks_on, max_turns=4) == ((), None, 1, False)


def test_a_person_can_end_a_team_at_any_time() -> None:
    assert contract(members=[agent("a"), UserProxyAgent("person")])[-1] is False


def test_magentic_one_ends_by_itself() -> None:
    team = MagenticOneGroupChat([agent("a")], Scripted(), max_turns=None)
    assert read_contract(team).uncapped is False


def test_system_prompts_by_agent() -> None:
    members = [agent("a", system_message="Be brief."), agent("b", system_message=None)]
    assert prompts(members) == {"a": "Be brief."}
