"""What is there before and what comes after ``install`` is seen alike."""

from __future__ import annotations

import asyncio
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.teams import RoundRobinGroupChat

from apps.agentchat_apps import Scripted, call
from mastwatch.testing import Recording
from mastwatch_instrumentations.agentchat import AgentChatInstrumentor


def weather(city: str) -> str:
    """The weather of a city."""
    return f"Rain in {city}"


def members() -> list[Any]:
    again = [call("weather", city="Kiel")] * 3
    return [
        AssistantAgent("alice", Scripted(*again), tools=[weather]),
        AssistantAgent("bob", Scripted("one", "two", "three")),
    ]


def test_every_hook_is_in_place() -> None:
    instrumentor = AgentChatInstrumentor()
    instrumentor.install(Recording().emitter)
    try:
        assert instrumentor.hooks()
        assert all(instrumentor.hooks().values())
    finally:
        instrumentor.uninstall()
    assert instrumentor.hooks() == {}


def test_a_team_that_has_run_before_is_seen_and_forgotten_again() -> None:
    team = RoundRobinGroupChat([*members()], max_turns=2)
    recording, instrumentor = Recording(), AgentChatInstrumentor()

    async def main() -> None:
        await team.run(task="Weather?")
        instrumentor.install(recording.emitter)
        await team.run(task="And now?")
        instrumentor.uninstall()
        await team.run(task="And now?")

    asyncio.run(main())
    assert recording.said == [("alice", ""), ("bob", "two")]
    assert recording.results == [("weather", "Rain in Kiel", None)]
    recording.check()


def test_clients_and_agents_of_classes_made_later_are_seen(seen: Recording) -> None:
    class Late(Scripted):
        async def create(self, messages: Any, **more: Any) -> Any:
            return await super().create(messages, **more)

    class Loud(AssistantAgent):
        async def on_messages_stream(self, messages: Any, cancellation_token: Any) -> Any:
            async for item in super().on_messages_stream(messages, cancellation_token):
                yield item

    asyncio.run(Loud("loud", Late("Hello.")).run(task="Speak."))
    assert seen.said == [("loud", "Hello.")]
    assert len(seen.models) == 1, "a client that asks its base class makes one call"
    seen.check()


def test_nothing_is_told_where_instrumentation_is_suppressed(seen: Recording) -> None:
    from opentelemetry.instrumentation.utils import suppress_instrumentation

    with suppress_instrumentation():
        asyncio.run(RoundRobinGroupChat([*members()], max_turns=2).run(task="Weather?"))
    assert seen.events == []
