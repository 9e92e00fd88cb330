"""How a team is meant to stop, read from its termination condition."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from autogen_agentchat.agents import AssistantAgent, BaseChatAgent, UserProxyAgent
from autogen_agentchat.base import AndTerminationCondition, OrTerminationCondition
from autogen_agentchat.conditions import MaxMessageTermination, TextMentionTermination
from autogen_agentchat.teams import RoundRobinGroupChat, SelectorGroupChat, Swarm

from mastwatch.events import Contract

MAX_TOKENS = 16
"""Stop words kept per team."""
_UNBOUNDED = 10_000
_ENDLESS = (RoundRobinGroupChat, SelectorGroupChat, Swarm)
"""Teams that go on for ever if nothing ends them; the others know an end of their own."""


@dataclass
class _Stops:
    tokens: tuple[str, ...] = ()
    cap: int | None = None
    votes: int = 1
    other: bool = False  # something else may end it


def read_contract(team: Any) -> Contract:
    """Return a team's contract."""
    members = getattr(team, "_participants", ())
    stops = _read(getattr(team, "_termination_condition", None))
    turns = getattr(team, "_max_turns", None)
    limits = [(stops.cap, "MaxMessageTermination"), (turns, "max_turns")]
    known = [(limit, source) for limit, source in limits if isinstance(limit, int)]
    cap, source = min(known, default=(None, ""))
    unbounded = cap is None or cap >= _UNBOUNDED
    asks = any(isinstance(member, UserProxyAgent) for member in members)
    return Contract(
        tokens=stops.tokens[:MAX_TOKENS],
        # A turn that says more than one thing uses up a limit of turns slower than it talks.
        max_messages=None if unbounded or not _brief(members) else cap,
        votes=stops.votes,
        source=source or ("TextMentionTermination" if stops.tokens else "max_turns"),
        uncapped=unbounded and not stops.other and not asks and isinstance(team, _ENDLESS),
    )


def _read(condition: Any) -> _Stops:
    if condition is None:
        return _Stops()
    if isinstance(condition, TextMentionTermination):
        token = getattr(condition, "_termination_text", "")
        return _Stops(tokens=(token,)) if token else _Stops(other=True)
    if isinstance(condition, MaxMessageTermination):
        limit = getattr(condition, "_max_messages", None)
        # The user's task counts as a message there.
        return _Stops(cap=max(1, limit - 1)) if isinstance(limit, int) else _Stops(other=True)
    parts = getattr(condition, "_conditions", ())
    if isinstance(condition, OrTerminationCondition):
        return _either([_read(part) for part in parts])
    if isinstance(condition, AndTerminationCondition):
        return _both([_read(part) for part in parts])
    return _Stops(other=True)


def _either(parts: Sequence[_Stops]) -> _Stops:
    tokens = dict.fromkeys(token for part in parts for token in part.tokens)
    alone = len([part for part in parts if part.tokens]) == 1
    return _Stops(
        tokens=tuple(tokens),
        cap=min((part.cap for part in parts if part.cap is not None), default=None),
        votes=max(part.votes for part in parts) if alone else 1,
        other=any(part.other for part in parts),
    )


def _both(parts: Sequence[_Stops]) -> _Stops:
    words = {part.tokens for part in parts}
    if len(words) == 1 and all(part.tokens for part in parts):
        return _Stops(tokens=parts[0].tokens, votes=len(parts))  # each agent must say it
    caps = [part.cap for part in parts]
    if all(caps):
        return _Stops(cap=max(cap for cap in caps if cap is not None))
    return _Stops(other=True)  # no word alone ends it


def _brief(members: Iterable[Any]) -> bool:
    """Whether every member says one thing per turn."""
    return all(
        isinstance(member, BaseChatAgent)
        and not (isinstance(member, AssistantAgent) and _talks_on(member))
        for member in members
    )


def _talks_on(agent: Any) -> bool:
    reflects = getattr(agent, "_reflect_on_tool_use", False)
    return bool(reflects) or getattr(agent, "_max_tool_iterations", 1) > 1


def prompts(agents: Iterable[Any]) -> dict[str, str]:
    """Return the system prompts by agent name."""
    found = {}
    for agent in agents:
        told = getattr(agent, "_system_messages", None) or ()
        text = getattr(told[0], "content", "") if told else ""
        if isinstance(text, str) and text:
            found[agent.name] = text
    return found
