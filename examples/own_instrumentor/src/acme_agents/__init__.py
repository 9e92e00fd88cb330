"""Stands in for the agent library you use: teams of agents with models and tools."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass
class Use:
    """What a model may answer instead of a text: a tool to use."""

    tool: str
    arguments: dict[str, Any]


class Agent:
    def __init__(
        self,
        name: str,
        model: Callable[[list[str]], str | Use],
        tools: dict[str, Callable[..., str]] | None = None,
    ) -> None:
        self.name = name
        self.model = model
        self.tools = tools or {}

    def reply(self, lines: list[str]) -> str:
        """Take a turn: ask the model until it answers with a text."""
        said = self.ask(lines)
        while isinstance(said, Use):
            lines = [*lines, self.use(said)]
            said = self.ask(lines)
        return said

    def ask(self, lines: list[str]) -> str | Use:
        """Ask the model."""
        return self.model(lines)

    def use(self, wanted: Use) -> str:
        """Use a tool."""
        return self.tools[wanted.tool](**wanted.arguments)


class Team:
    def __init__(self, name: str, agents: list[Agent], rounds: int = 1) -> None:
        self.name = name
        self.agents = agents
        self.rounds = rounds

    def run(self, task: str) -> list[str]:
        """Let the agents speak in turn; returns what they said."""
        return list(self.stream(task))

    def stream(self, task: str) -> Iterator[str]:
        """The same, one line at a time."""
        lines = [task]
        for agent in self.agents * self.rounds:
            lines.append(agent.reply(lines))
            yield lines[-1]
