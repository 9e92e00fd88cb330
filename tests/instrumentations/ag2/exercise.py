"""What check_instrumentor runs of AG2 1.x: a shop and its customer on a hub, scripted."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncIterator
from typing import Any

from ag2.agent import Agent, AgentRun
from ag2.events import ModelResponse
from ag2.network import AgentClient, Hub

from apps.ag2_apps import agent, call, network, until

TASK = "How much is the green tea in the window?"
ANSWER = "The green tea costs four euros a tin."
FOUND = "green tea: four euros a tin, two left"


def price(item: str) -> str:
    """The price of an item."""
    return FOUND


class Exercise:
    texts = (TASK, ANSWER, FOUND)

    def __init__(self) -> None:
        self._made: list[weakref.ref[Any]] = []

    def run(self) -> object:
        return asyncio.run(self._talk())

    async def _talk(self) -> object:
        buyer, shop = agent("buyer", ""), self._shop()
        self._made = [weakref.ref(buyer), weakref.ref(shop)]
        async with network(buyer, shop) as (hub, (asks, _)):
            channel = await asks.open(type="consulting", target="shop")
            await channel.send(TASK)
            metadata = await channel.info()
            await until(metadata.is_terminal)
            wal = await hub.read_wal(channel.channel_id)
        return [envelope.event_data.get("text") for envelope in wal]

    def fail(self, error: Exception) -> None:
        asyncio.run(self._ask(agent("shop", error)))

    async def _ask(self, shop: Agent[Any]) -> None:
        await shop.ask(TASK)

    async def cancel(self) -> None:
        begun, shop = asyncio.Event(), agent("shop", call("wait"))

        @shop.tool
        async def wait() -> str:
            """Wait."""
            begun.set()
            await asyncio.sleep(60)
            return FOUND

        asked = asyncio.create_task(shop.ask(TASK))
        await begun.wait()
        asked.cancel()
        await asked

    async def stream(self) -> AsyncIterator[str]:
        async with self._shop().run(TASK) as run:
            with run.stream.join() as events:
                run.start()
                async for event in events:
                    yield type(event).__name__
                    if isinstance(event, ModelResponse) and event.content:
                        break
            await run.result()

    def patched(self) -> list[tuple[object, str]]:
        return [
            (Agent, "_drive_scope"),
            (AgentRun, "__aexit__"),
            (Hub, "_fan_out"),
            (Hub, "close"),
            (AgentClient, "receive"),
        ]

    def agents(self) -> list[object]:
        return [agent("buyer"), self._shop()]

    def made(self) -> list[weakref.ref[Any]]:
        return self._made

    def _shop(self) -> Agent[Any]:
        return agent("shop", call("price", '{"item": "tea"}'), ANSWER, tools=[price])
