"""An ordinary AG2 app: an editor and a researcher on a hub, then a guide who asks a local.

``loop`` makes the researcher search for the same thing over and over; ``traced`` switches AG2's own
tracing on.
"""

import asyncio
import sys

from ag2 import Agent
from ag2.events import ToolCallEvent
from ag2.knowledge import MemoryKnowledgeStore
from ag2.middleware import TelemetryMiddleware
from ag2.network import Hub, HubClient, LocalLink
from ag2.testing import TestConfig

LOOP, TRACED = "loop" in sys.argv, "traced" in sys.argv


class Script(TestConfig):
    """A model that goes on with its script in each turn."""

    def __init__(self, *lines):
        super().__init__(*lines)
        self._client = super().create()

    def create(self):
        return self._client


def search(query: str) -> str:
    """Search the archive."""
    return f"Found nothing new about {query}." if LOOP else f"A note about {query}."


def save(title: str) -> str:
    """Save the article."""
    return f"Saved as {title}."


def agent(name, prompt, *lines, tools=()):
    middleware = [TelemetryMiddleware(agent_name=name)] if TRACED else []
    return Agent(name, prompt, config=Script(*lines), tools=list(tools), middleware=middleware)


def asks_for(tool, **arguments):
    pairs = ", ".join(f'"{key}": "{value}"' for key, value in arguments.items())
    return ToolCallEvent(tool, arguments="{" + pairs + "}")


async def newsroom():
    queries = ["harbour cranes"] * 5 if LOOP else ["harbour cranes", "harbour tides"]
    researcher = agent(
        "researcher",
        "You search the archive.",
        *(asks_for("search", query=query) for query in queries),
        "The harbour got its first steam crane in 1863.",
        tools=[search],
    )
    editor = agent(
        "editor",
        "You write and save the article.",
        asks_for("save", title="cranes-of-1863"),
        "",
        tools=[save],
    )
    done = asyncio.Event()
    hub = await Hub.open(MemoryKnowledgeStore())
    clients = [HubClient(link=LocalLink(hub), hub=hub) for _ in range(2)]
    edits = await clients[0].register(editor)
    await clients[1].register(researcher)
    handle = edits._run_default_handler

    async def answer(envelope):
        await handle(envelope)
        if envelope.event_type == "ag2.msg.text":
            print("researcher:", envelope.event_data["text"])
            done.set()

    edits.on_envelope(answer)
    channel = await edits.open(type="conversation", target="researcher")
    await channel.send("What do we have on the old harbour cranes?")
    await asyncio.wait_for(done.wait(), 60)
    await channel.close(reason="published")
    for client in clients:
        await client.close()
    await hub.close()


async def tour():
    local = agent("local", "You know the town.", "Take the ferry at nine.")
    guide = agent(
        "guide",
        "You plan tours.",
        asks_for("task_local", objective="Which ferry is best?"),
        "We leave with the ferry at nine.",
        tools=[local.as_tool(description="Knows the town.")],
    )
    reply = await guide.ask("When do we leave for the islands?")
    print("guide:", reply.body)


async def main():
    await newsroom()
    await tour()


asyncio.run(main())
