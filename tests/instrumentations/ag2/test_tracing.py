"""AG2's own tracing beside our hooks: the same Events, and no second set of spans."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from typing import Any

import pytest
from ag2 import Agent
from ag2.knowledge import MemoryKnowledgeStore
from ag2.middleware import TelemetryMiddleware
from ag2.network.hub.telemetry import HubTelemetryListener

from apps.ag2_apps import agent, call, network, price, until
from mastwatch.events import ModelCalled, RunFinished
from mastwatch.testing.recording import Recording
from mastwatch_instrumentations.ag2 import Ag2Instrumentor

CHANGING = ("run_id", "at", "id", "turn", "seconds", "conversation_id", "call_id", "tool_calls")
OURS = "mastwatch"


def told(recording: Recording) -> list[Any]:
    return [
        (
            type(event).__name__,
            [getattr(event, f.name) for f in fields(event) if f.name not in CHANGING],
        )
        for event in recording.events
    ]


def ours(recording: Recording) -> Counter[str]:
    """Our spans, by operation."""
    scopes = [(s.instrumentation_scope, s.name.split()[0]) for s in recording.spans]
    return Counter(name for scope, name in scopes if scope and scope.name == OURS)


def all_of(recording: Recording, name: str) -> int:
    return sum(span.name.split()[0] == name for span in recording.spans)


def telemetry(recording: Recording, name: str | None = "shop") -> TelemetryMiddleware:
    return TelemetryMiddleware(tracer_provider=recording.provider, agent_name=name)


def shop(**about: Any) -> Agent[Any]:
    return agent("shop", call("price", '{"item": "tea"}'), "Four.", tools=[price], **about)


async def recorded(way: str) -> Recording:
    recording, instrumentor = Recording(), Ag2Instrumentor()
    instrumentor.install(recording.emitter)
    traced = telemetry(recording)
    match way:
        case "agent":
            await shop(middleware=[traced]).ask("Tea?")
        case "added":
            seller = shop()
            seller.add_middleware(traced)
            await seller.ask("Tea?")
        case "call":
            await shop().ask("Tea?", middleware=[traced])
        case _:
            await shop().ask("Tea?")
    instrumentor.uninstall()
    return recording


@pytest.mark.parametrize("way", ["agent", "added", "call"])
async def test_turn_is_traced_once_and_told_the_same(way: str) -> None:
    alone, beside = await recorded("alone"), await recorded(way)

    assert told(beside) == told(alone)
    assert ours(alone) == {"invoke_workflow": 1, "invoke_agent": 1, "chat": 2, "execute_tool": 1}
    assert ours(beside) == {}
    for name in ("invoke_agent", "chat", "execute_tool"):
        assert all_of(beside, name) == all_of(alone, name)
    carriers = [s for s in beside.spans if "mastwatch.message.index" in (s.attributes or {})]
    assert [span.name.split()[0] for span in carriers] == ["invoke_agent", "chat"]


@pytest.mark.parametrize("way", ["alone", "agents", "tracer", "listener"])
async def test_channel_is_traced_once_and_told_the_same(way: str, recording: Recording) -> None:
    traces = [telemetry(recording)] if way == "agents" else []
    about = {"tracer_provider": recording.provider} if way == "tracer" else {}
    async with network(agent("buyer", ""), shop(middleware=traces), **about) as (hub, (asks, _)):
        if way == "listener":
            store = MemoryKnowledgeStore()
            listener = HubTelemetryListener(store, tracer_provider=recording.provider)
            hub.register_listener(listener)
        channel = await asks.open(type="consulting", target="shop")
        await channel.send("Tea?")
        await until(lambda: bool(recording.of(RunFinished)))

    assert recording.said == [("buyer", "Tea?"), ("shop", ""), ("shop", "Four.")]
    assert recording.tools == [("shop", "price", {"item": "tea"})]
    assert recording.ends == [("completed", "consulting_complete")]
    if way == "alone":
        recording.check()
    else:
        assert set(ours(recording)) <= {"agent_message"}


async def test_traced_turn_in_a_run_of_the_hosts_opens_no_span_of_ours(
    recording: Recording,
) -> None:
    run = recording.emitter.start_run("shopping", framework="custom", task="Tea")
    with run.attached():
        await shop(middleware=[telemetry(recording)]).ask("Tea?")
    run.finish("completed")

    assert ours(recording) == {"invoke_workflow": 1}
    assert all_of(recording, "invoke_agent") == 1


async def test_a_model_call_is_known_to_the_library_below(recording: Recording) -> None:
    seller, seen = shop(), []

    class Below(type(seller.config._client)):  # type: ignore[misc]
        async def __call__(self, *args: Any, **kwargs: Any) -> Any:
            call = recording.emitter.model_call_here()
            seen.append(call)
            call.enrich(model="small-2", provider="openai", input_tokens=7, output_tokens=2)
            return await super().__call__(*args, **kwargs)

    seller.config._client.__class__ = Below
    await seller.ask("Tea?")

    assert len(seen) == 2
    assert None not in seen
    assert [(e.model, e.provider, e.input_tokens) for e in recording.of(ModelCalled)] == [
        ("small-2", "openai", 7),
        ("small-2", "openai", 7),
    ]
    assert recording.emitter.model_call_here() is None


def test_native_spans_are_left_alone_by_the_bridge() -> None:
    assert Ag2Instrumentor.scopes == ("opentelemetry.instrumentation.ag2",)
    assert Ag2Instrumentor.supersedes == ("openai",)
