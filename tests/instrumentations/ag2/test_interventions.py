"""Turns and channels that the host lets mastwatch end, or speak in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ag2.testing import TrackingConfig
from prometheus_client import CollectorRegistry

import mastwatch
from apps.ag2_apps import agent, call, network, until
from mastwatch.events import Event, RunFinished
from mastwatch.sink import Sink

AGAIN = [call("poll", '{"job": "7"}') for _ in range(8)]


def poll(job: str) -> str:
    """Look at a job."""
    return "still the same"


class Watched(Sink):
    """How the runs ended."""

    def __init__(self) -> None:
        self.ends: list[tuple[str, str]] = []
        self.findings: list[Any] = []

    def on_event(self, event: Event, framework: str) -> None:
        if isinstance(event, RunFinished):
            self.ends.append((event.outcome, event.reason))

    def on_finding(self, finding: Any) -> None:
        self.findings.append(finding)


@contextmanager
def acting(**rule: Any) -> Iterator[Watched]:
    watched = Watched()
    with mastwatch.instrument(
        frameworks=["ag2"],
        registry=CollectorRegistry(),
        actions=[{"mode": "FM-1.3", "severity": "warn", **rule}],
    ) as handle:
        handle.add_sink(watched)
        yield watched


async def test_halted_turn_ends_as_ag2_ends_it() -> None:
    with acting(action="halt") as watched:
        reply = await agent("shop", *AGAIN, "Done.", tools=[poll]).ask("Is job 7 done?")

    assert reply.body == "HALTED: halted by mastwatch: FM-1.3"
    assert watched.ends == [("cancelled", "halted by mastwatch: FM-1.3")]


async def test_halted_channel_is_closed_and_nothing_more_is_said() -> None:
    buyer, shop = agent("buyer", "Ask again."), agent("shop", *AGAIN, "Done.", tools=[poll])
    with acting(action="halt") as watched:
        async with network(buyer, shop) as (hub, (asks, _)):
            channel = await asks.open(type="conversation", target="shop")
            await channel.send("Is job 7 done?")
            await until(lambda: bool(watched.ends))
            wal = await hub.read_wal(channel.channel_id)
            closed = await channel.info()

    assert [e.sender_id for e in wal if "ag2.msg" in e.event_type] == [asks.agent_id]
    assert closed.close_reason == "halted by mastwatch: FM-1.3"
    assert watched.ends == [("cancelled", "halted by mastwatch: FM-1.3")]


async def test_conversation_that_never_closes_is_found_and_ended() -> None:
    thanks = "Thank you so much, it was a great pleasure to work with you!"
    pleasure = "The pleasure was all mine, thank you for the kind words!"
    buyer, shop = agent("buyer", *[thanks] * 40), agent("shop", *[pleasure] * 40)
    with acting(mode="FM-1.5", action="halt") as watched:
        async with network(buyer, shop) as (_, (asks, _)):
            channel = await asks.open(type="conversation", target="shop")
            await channel.send(thanks)
            await until(lambda: bool(watched.ends))
            closed = await channel.info()

    assert {finding.mode for finding in watched.findings} >= {"FM-1.5"}
    assert closed.close_reason == "halted by mastwatch: FM-1.5"
    assert watched.ends == [("cancelled", "halted by mastwatch: FM-1.5")]


async def test_halted_delegation_ends_the_run_around_it() -> None:
    delegate = call("delegate", '{"target": "shop", "prompt": "Is job 7 done?"}')
    buyer, shop = agent("buyer", delegate, "Never."), agent("shop", *AGAIN, "Done.", tools=[poll])
    with acting(action="halt") as watched:
        async with network(buyer, shop):
            reply = await buyer.ask("Find out.")

    assert reply.body == "HALTED: halted by mastwatch: FM-1.3"
    assert watched.ends[-1] == ("cancelled", "halted by mastwatch: FM-1.3")


async def test_nudge_is_heard_once_and_stands_in_no_history() -> None:
    shop = agent("shop", *AGAIN[:4], "Done.", tools=[poll])
    config = TrackingConfig(shop.config)
    with acting(action="nudge", message="{agent}, stop polling."):
        reply = await shop.ask("Is job 7 done?", config=config)

    sent = [str(given.args[0]) for given in config.mock.call_args_list]
    assert [("stop polling" in last) for last in sent].count(True) == 1
    assert any("[mastwatch] shop, stop polling." in last for last in sent)
    assert not any("stop polling" in str(e) for e in await reply.history.get_events())
    assert reply.body == "Done."
