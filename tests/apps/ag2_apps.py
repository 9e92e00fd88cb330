"""Agents and hubs of AG2 1.x with scripted models, for tests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from ag2 import Agent
from ag2.events import ToolCallEvent
from ag2.knowledge import MemoryKnowledgeStore
from ag2.network import Hub, HubClient, LocalLink
from ag2.testing import TestConfig


class Script(TestConfig):
    """A model that goes on with its script from turn to turn, and is given failed tools' errors."""

    def __init__(self, *lines: Any, **about: Any) -> None:
        super().__init__(*lines, raise_tool_errors=False, **about)
        self._client = super().create()

    def create(self) -> Any:
        return self._client


def call(tool: str, arguments: str = "{}", id: str | None = None) -> ToolCallEvent:
    """A model's wish to call a tool."""
    return ToolCallEvent(tool, arguments=arguments, **({"id": id} if id else {}))


def agent(name: str, *lines: Any, tools: Any = (), **about: Any) -> Agent[Any]:
    """An agent that says these lines."""
    about.setdefault("prompt", f"You are {name}.")
    return Agent(name, config=Script(*lines), tools=list(tools), **about)


def price(item: str) -> str:
    """Look up the price of an item."""
    return f"{item}: 4 euros"


@asynccontextmanager
async def network(*agents: Agent[Any], **about: Any) -> AsyncIterator[tuple[Hub, list[Any]]]:
    """A hub and its agents, each with a connection of its own."""
    hub = await Hub.open(MemoryKnowledgeStore(), **about)
    clients = [HubClient(link=LocalLink(hub), hub=hub) for _ in agents]
    try:
        yield hub, [await c.register(a) for c, a in zip(clients, agents, strict=True)]
    finally:
        for client in clients:
            await client.close()
        await hub.close()


async def until(happened: Callable[[], bool]) -> None:
    """Wait for something that agents do by themselves."""
    patience = time.monotonic() + 10
    while not happened():
        assert time.monotonic() < patience, "it never happened"
        await asyncio.sleep(0.001)
