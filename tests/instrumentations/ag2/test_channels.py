"""What is told of agents that talk through a hub: one conversation is one run."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from ag2.network import Envelope, Handoff, HubClient, LocalLink, Passport
from ag2.network.transitions import (
    AgentTarget,
    FromSpeaker,
    TerminateTarget,
    ToolCalled,
    Transition,
    TransitionGraph,
)

from apps.ag2_apps import agent, call, network, price, until
from mastwatch.events import (
    HandedOff,
    HumanAsked,
    MessageSent,
    ModelCalled,
    RunFinished,
    RunStarted,
)
from mastwatch.testing.recording import Recording
from mastwatch_instrumentations.ag2 import Ag2Instrumentor
from mastwatch_instrumentations.ag2.hooks import Hooks
from mastwatch_instrumentations.ag2.tracker import Tracker

TEA = call("price", '{"item": "tea"}')


async def test_conversation_is_one_run_told_once(recording: Recording) -> None:
    buyer = agent("buyer", "And coffee?", "")
    shop = agent("shop", TEA, "Tea is four.", "Coffee is five.", tools=[price])
    async with network(buyer, shop) as (_, (asks, _answers)):
        channel = await asks.open(type="conversation", target="shop")
        await channel.send("How much is tea?")
        await until(lambda: len(recording.of(ModelCalled, agent="buyer")) == 2)
        await channel.close(reason="sold")

    assert recording.said == [
        ("buyer", "How much is tea?"),
        ("shop", ""),
        ("shop", "Tea is four."),
        ("buyer", "And coffee?"),
        ("shop", "Coffee is five."),
    ]
    assert recording.tools == [("shop", "price", {"item": "tea"})]
    [started] = recording.of(RunStarted)
    assert started.task == "How much is tea?"
    assert started.prompts == {"buyer": "You are buyer.", "shop": "You are shop."}
    assert started.contract.uncapped
    messages = recording.of(MessageSent)
    assert [message.kind for message in messages] == ["opener", *["reply"] * 4]
    assert messages[0].recipients == ("shop",)
    assert messages[2].recipients == ("buyer",)
    assert recording.ends == [("completed", "sold")]
    names = [span.name for span in recording.spans]
    assert names.count("agent_message buyer") == 1  # the opener; replies are their turns'
    assert names.count("invoke_agent shop") == 2
    recording.check()


async def test_consultation_ends_by_itself(recording: Recording) -> None:
    async with network(agent("buyer", ""), agent("shop", "Four.")) as (_, (asks, _)):
        channel = await asks.open(type="consulting", target="shop")
        await channel.send("How much is tea?")
        await until(lambda: bool(recording.of(RunFinished)))

    assert recording.said == [("buyer", "How much is tea?"), ("shop", "Four.")]
    assert recording.ends == [("completed", "consulting_complete")]
    assert not recording.of(RunStarted)[0].contract.uncapped
    recording.check()


async def test_channel_left_open_is_abandoned_with_its_hub(recording: Recording) -> None:
    async with network(agent("buyer", ""), agent("shop", "Four.")) as (_, (asks, _)):
        channel = await asks.open(type="conversation", target="shop")
        await channel.send("How much is tea?")
        await until(lambda: len(recording.of(ModelCalled, agent="buyer")) == 1)

    assert recording.ends == [("abandoned", "the hub was closed before the channel")]
    recording.check()


async def test_channel_nobody_speaks_in_is_no_run(recording: Recording) -> None:
    async with network(agent("buyer"), agent("shop")) as (_, (asks, _)):
        channel = await asks.open(type="conversation", target="shop")
        await channel.close()

    assert recording.events == []


async def test_delegation_is_a_branch_of_the_turn_around_it(recording: Recording) -> None:
    delegate = call("delegate", '{"target": "shop", "prompt": "How much is tea?"}')
    buyer, shop = agent("buyer", delegate, "It is four."), agent("shop", "Four.")
    async with network(buyer, shop):
        reply = await buyer.ask("Find out about tea.")

    assert reply.body == "It is four."
    assert recording.said == [
        ("buyer", ""),
        ("buyer", "How much is tea?"),
        ("shop", "Four."),
        ("buyer", "It is four."),
    ]
    outer, inner = recording.of(RunStarted)
    assert (outer.run_id, inner.branch) == (inner.run_id, "1")
    assert recording.results == [("delegate", "Four.", None)]
    assert recording.ends[0] == ("completed", "consulting_complete")
    recording.check()


async def test_what_the_tool_say_posts_is_said(recording: Recording) -> None:
    say = call("say", '{"content": "Tea is four."}')
    async with network(agent("buyer", "", ""), agent("shop", say, "Was that all?")) as (
        _,
        (asks, _),
    ):
        channel = await asks.open(type="conversation", target="shop")
        await channel.send("How much is tea?")
        await until(lambda: len(recording.of(ModelCalled, agent="buyer")) == 2)
        await channel.close()

    assert recording.said == [
        ("buyer", "How much is tea?"),
        ("shop", ""),
        ("shop", "Tea is four."),
        ("shop", "Was that all?"),
    ]
    recording.check()


async def test_handler_of_the_hosts_own_tells_a_reply_once(recording: Recording) -> None:
    buyer, shop = agent("buyer"), agent("shop", "Four.")
    async with network(buyer, shop) as (_, (asks, answers)):
        asks.on_envelope(None)
        channel = await asks.open(type="conversation", target="shop")

        async def handle(envelope: Any) -> None:
            if envelope.event_type == "ag2.msg.text":
                reply = await shop.ask(envelope.event_data["text"])
                await answers.send_envelope(_answer(envelope, reply.body))

        answers.on_envelope(handle)
        await channel.send("How much is tea?")
        await until(lambda: len(recording.of(MessageSent)) >= 2)
        await asyncio.sleep(0.02)
        await channel.close()

    assert recording.said == [("buyer", "How much is tea?"), ("shop", "Four.")]
    assert len(recording.of(RunStarted)) == 1
    recording.check()


def _answer(envelope: Any, text: str) -> Any:
    return Envelope(
        channel_id=envelope.channel_id,
        sender_id="",
        audience=None,
        event_type="ag2.msg.text",
        event_data={"text": text},
    )


async def test_workflow_ends_with_its_turns(recording: Recording) -> None:
    writer, editor = agent("writer", "A draft."), agent("editor", "Shorter!", "Good.")
    async with network(writer, editor) as (_, (writes, edits)):
        graph = TransitionGraph.round_robin([writes.agent_id, edits.agent_id], max_turns=4)
        knobs = {"graph": graph.to_dict()}
        channel = await writes.open(type="workflow", target="editor", knobs=knobs)
        await channel.send("Write about tea.")
        await until(lambda: bool(recording.of(RunFinished)))

    assert recording.said == [
        ("writer", "Write about tea."),
        ("editor", "Shorter!"),
        ("writer", "A draft."),
        ("editor", "Good."),
    ]
    assert recording.ends == [("limit", "max_turns")]
    assert recording.of(HandedOff) == []
    recording.check()


@pytest.mark.parametrize("dynamic", [True, False])
async def test_hand_off_in_a_workflow_is_told(recording: Recording, dynamic: bool) -> None:
    def to_editor() -> Any:
        """Pass it on."""
        return Handoff(target="editor", reason="done") if dynamic else "done"

    writer = agent("writer", call("to_editor"), "A draft.", tools=[to_editor])
    client, editor = agent("client"), agent("editor", "Good.")
    async with network(client, writer, editor) as (_, (asks, writes, edits)):
        after = Transition(when=ToolCalled("to_editor"), then=AgentTarget(edits.agent_id))
        opening = Transition(when=FromSpeaker(asks.agent_id), then=AgentTarget(writes.agent_id))
        graph = TransitionGraph(
            asks.agent_id,
            [opening] if dynamic else [opening, after],
            TerminateTarget(reason="published"),
        )
        knobs = {"graph": graph.to_dict()}
        channel = await asks.open(type="workflow", target=["writer", "editor"], knobs=knobs)
        await channel.send("Write about tea.")
        await until(lambda: bool(recording.of(RunFinished)))

    assert recording.said == [
        ("client", "Write about tea."),
        ("writer", ""),
        ("writer", "A draft."),
        ("editor", "Good."),
    ]
    [handed] = recording.of(HandedOff)
    assert (handed.source, handed.target) == ("writer", "editor")
    assert recording.ends == [("completed", "published")]
    recording.check()


async def test_person_in_a_channel_is_waited_for(recording: Recording) -> None:
    async with network(agent("shop", "Green or black?")) as (hub, _):
        client = HubClient(link=LocalLink(hub), hub=hub)
        ann = await client.register_human(Passport(name="ann"))
        channel = await ann.open(type="conversation", target="shop")
        await channel.send("Tea, please.")
        await until(lambda: bool(recording.of(HumanAsked)))
        await channel.close(reason="done")
        await client.close()

    assert recording.said == [("ann", "Tea, please."), ("shop", "Green or black?")]
    assert [message.kind for message in recording.of(MessageSent)] == ["human", "reply"]
    assert recording.of(HumanAsked)[0].agent == "ann"
    assert not recording.of(RunStarted)[0].contract.uncapped
    recording.check()


async def test_two_channels_are_two_runs(recording: Recording) -> None:
    buyer, shop, bank = agent("buyer", "", ""), agent("shop", "Four."), agent("bank", "Paid.")
    async with network(buyer, shop, bank) as (_, (asks, *_rest)):
        first = await asks.open(type="consulting", target="shop")
        second = await asks.open(type="consulting", target="bank")
        await asyncio.gather(first.send("How much?"), second.send("Pay!"))
        await until(lambda: len(recording.of(RunFinished)) == 2)

    of = {m.run_id: [] for m in recording.of(MessageSent)}
    for message in recording.of(MessageSent):
        of[message.run_id].append((message.sender, message.text))
    assert sorted(of.values()) == [
        [("buyer", "How much?"), ("shop", "Four.")],
        [("buyer", "Pay!"), ("bank", "Paid.")],
    ]
    recording.check()


async def test_channels_inside_a_run_of_the_hosts_are_branches_of_it(
    recording: Recording,
) -> None:
    run = recording.emitter.start_run("shopping", framework="custom", task="Tea")
    async with network(agent("buyer", "", ""), agent("shop", "Four.", "Five.")) as (_, (asks, _)):
        with run.attached():
            for question in ("Tea?", "Coffee?"):
                channel = await asks.open(type="consulting", target="shop")
                await channel.send(question)
                await until(channel.metadata.is_terminal)
    run.finish("completed")

    assert len({event.run_id for event in recording.of(RunStarted)}) == 1
    assert [event.branch for event in recording.of(RunStarted)] == ["", "1", "2"]
    assert len(recording.said) == 4
    recording.check()


async def test_failing_turn_does_not_end_the_channel(recording: Recording) -> None:
    buyer, shop = agent("buyer", "", ""), agent("shop", RuntimeError("model down"), "Four.")
    async with network(buyer, shop) as (_, (asks, _)):
        channel = await asks.open(type="conversation", target="shop")
        await channel.send("How much?")
        await until(lambda: len(recording.of(ModelCalled)) == 1)
        await channel.send("Hello?")
        await until(lambda: ("shop", "Four.") in recording.said)
        await channel.close(reason="sold")

    assert [run.outcome for run in recording.of(RunFinished)] == ["completed"]
    recording.check()


async def test_hub_and_channel_made_before_are_seen() -> None:
    buyer, shop = agent("buyer", ""), agent("shop", "Four.")
    recording, instrumentor = Recording(), Ag2Instrumentor()
    async with network(buyer, shop) as (_, (asks, _)):
        channel = await asks.open(type="consulting", target="shop")
        instrumentor.install(recording.emitter)
        await channel.send("How much?")
        await until(lambda: bool(recording.of(RunFinished)))
    instrumentor.uninstall()

    assert recording.said == [("buyer", "How much?"), ("shop", "Four.")]
    recording.check()


async def test_closed_channels_leave_nothing_behind() -> None:
    recording = Recording()
    tracker = Tracker(recording.emitter)
    hooks = Hooks(tracker)
    hooks.install()
    async with network(agent("buyer"), agent("shop", "Yes.")) as (_, (asks, _)):
        channel = await asks.open(type="consulting", target="shop")
        await channel.send("Open?")
        await until(lambda: bool(recording.of(RunFinished)))
        await asyncio.sleep(0.02)  # the envelope of the end reaches everyone
    hooks.remove()

    assert len(tracker.channels) == 0
    assert tracker.turns == {}


async def test_long_silence_begins_another_run(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1_000_000.0]
    monkeypatch.setattr(recording.emitter, "clock", lambda: now[0])
    async with network(agent("buyer", "", ""), agent("shop", "Yes.", "Still.")) as (_, (asks, _)):
        channel = await asks.open(type="conversation", target="shop")
        for n, text in enumerate(["Open?", "Still open?"]):
            now[0] += 4_000
            await channel.send(text)
            await until(lambda n=n: len(recording.of(ModelCalled, agent="buyer")) == n + 1)
        await channel.close(reason="done")

    assert recording.ends == [("unknown", "silent for too long"), ("completed", "done")]
    assert [event.task for event in recording.of(RunStarted)] == ["Open?", "Still open?"]
    recording.check()


async def test_channels_are_let_go_of_in_the_end(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mastwatch_instrumentations.ag2.channels.MAX_CHANNELS", 2)
    async with network(agent("buyer"), agent("shop", *["Yes."] * 4)) as (_, (asks, _)):
        asks.on_envelope(None)
        for _ in range(3):
            channel = await asks.open(type="conversation", target="shop")
            await channel.send("Open?")
        await until(lambda: len(recording.said) == 6)

    assert recording.ends[0] == ("unknown", "silent for too long")
    assert [outcome for outcome, _ in recording.ends[1:]] == ["abandoned", "abandoned"]
    recording.check()
