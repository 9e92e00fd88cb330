"""How runs end, whatever way they are run; the host sees what it would see without us."""

from __future__ import annotations

import asyncio
import gc
import threading
from typing import Any

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import (
    ExternalTermination,
    HandoffTermination,
    MaxMessageTermination,
    SourceMatchTermination,
    TextMentionTermination,
    TokenUsageTermination,
)
from autogen_agentchat.messages import HandoffMessage
from autogen_agentchat.teams import RoundRobinGroupChat, Swarm
from autogen_core import CancellationToken
from opentelemetry import trace

from apps.agentchat_apps import HANGS, Scripted, call
from mastwatch.events import HumanReplied, RunFinished, RunStarted
from mastwatch.testing import Recording


def agent(name: str, *lines: Any, **more: Any) -> AssistantAgent:
    return AssistantAgent(name, Scripted(*lines), **more)


def pair(*conditions: Any, **more: Any) -> RoundRobinGroupChat:
    members = [agent("alice", "one", "three", "five"), agent("bob", "two", "four", "six")]
    return RoundRobinGroupChat(members, termination_condition=conditions[0], **more)


@pytest.mark.parametrize(
    ("condition", "outcome"),
    [
        (MaxMessageTermination(2), "limit"),
        (TokenUsageTermination(max_total_token=5), "limit"),
        (SourceMatchTermination(["bob"]), "completed"),
        (TextMentionTermination("two") | MaxMessageTermination(3), "completed"),
        (TextMentionTermination("two") & MaxMessageTermination(3), "completed"),
    ],
)
def test_conditions(seen: Recording, condition: Any, outcome: str) -> None:
    result = asyncio.run(pair(condition).run(task="Count."))
    assert seen.ends == [(outcome, result.stop_reason)]
    seen.check()


def test_max_turns_is_a_limit(seen: Recording) -> None:
    asyncio.run(pair(None, max_turns=1).run(task="Count."))
    assert seen.ends == [("limit", "Maximum number of turns 1 reached.")]
    seen.check()


def test_a_stop_button_cancels(seen: Recording) -> None:
    stop = ExternalTermination()

    async def main() -> None:
        async for item in pair(stop).run_stream(task="Count."):
            if getattr(item, "source", "") == "alice":
                stop.set()

    asyncio.run(main())
    assert seen.ends == [("cancelled", "External termination requested")]
    seen.check()


def test_what_a_model_raises(seen: Recording) -> None:
    team = RoundRobinGroupChat([agent("alice", OSError("no network"))], max_turns=1)
    with pytest.raises(RuntimeError, match="no network"):
        asyncio.run(team.run(task="Go."))
    (end,) = seen.of(RunFinished)
    assert (end.outcome, end.reason, end.error) == ("error", "OSError", "RuntimeError")
    assert seen.models[0].error == "OSError"
    seen.check()


def test_what_an_agent_alone_raises_is_the_same_object(seen: Recording) -> None:
    planted = OSError("no network")
    with pytest.raises(OSError, match="no network") as raised:
        asyncio.run(agent("alice", planted).run(task="Go."))
    assert raised.value is planted
    assert seen.ends[0][0] == "error"
    seen.check()


async def hanging(city: str) -> str:
    """Never comes back."""
    await asyncio.sleep(60)
    return city


def test_a_cancelled_token(seen: Recording) -> None:
    async def main() -> None:
        token, model = CancellationToken(), Scripted(HANGS)
        team = RoundRobinGroupChat([AssistantAgent("alice", model)])
        run = asyncio.create_task(team.run(task="Go.", cancellation_token=token))
        while not model.requests:
            await asyncio.sleep(0)
        await asyncio.sleep(0.01)
        token.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    asyncio.run(main())
    assert seen.ends[0][0] == "cancelled"
    assert seen.models[0].error == "asyncio.exceptions.CancelledError"
    seen.check()


def test_a_cancelled_task(seen: Recording) -> None:
    async def main() -> None:
        run = asyncio.create_task(
            agent("alice", call("hanging", city="x"), tools=[hanging]).run(task="Go.")
        )
        while not seen.tools:
            await asyncio.sleep(0)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    asyncio.run(main())
    assert seen.ends[0][0] == "cancelled"
    seen.check()


def test_a_stream_that_is_left(seen: Recording) -> None:
    async def main() -> None:
        async for item in pair(MaxMessageTermination(4)).run_stream(task="Count."):
            if getattr(item, "source", "") == "alice":
                break
        gc.collect()
        while not seen.ends:
            await asyncio.sleep(0)

    asyncio.run(main())
    assert [outcome for outcome, _ in seen.ends] == ["abandoned"]
    seen.check()


def test_a_stream_of_an_agent_that_is_left(traced: Recording) -> None:
    """AutoGen's own span is current across its yields: the host must not find it, nor ours."""

    async def main() -> None:
        alice = agent("alice", "Word by word.", model_client_stream=True)
        stream = alice.run_stream(task="Talk.")
        await anext(stream)
        assert not trace.get_current_span().get_span_context().is_valid
        await anext(stream)
        await stream.aclose()
        assert not trace.get_current_span().get_span_context().is_valid

    asyncio.run(main())
    assert [outcome for outcome, _ in traced.ends] == ["abandoned"]


def test_a_stream_not_begun_is_no_run(seen: Recording) -> None:
    async def main() -> None:
        stream = pair(MaxMessageTermination(2)).run_stream(task="Count.")
        assert seen.events == []
        await stream.aclose()

    asyncio.run(main())
    assert seen.events == []


def test_two_runs_of_one_team_and_a_reset(seen: Recording) -> None:
    async def main() -> None:
        team = pair(None, max_turns=2)
        await team.run(task="Count.")
        await team.run()  # goes on
        await team.reset()
        await team.run(task="Anew.")

    asyncio.run(main())
    first, second, third = seen.of(RunStarted)
    assert len({first.run_id, second.run_id, third.run_id}) == 3
    assert first.conversation_id == second.conversation_id != third.conversation_id
    assert (first.task, second.task, third.task) == ("Count.", None, "Anew.")
    seen.check()


def test_a_saved_state_in_a_new_team(seen: Recording) -> None:
    async def main() -> None:
        team = pair(None, max_turns=2)
        await team.run(task="Count.")
        other = pair(None, max_turns=2)
        await other.load_state(await team.save_state())
        await other.run()

    asyncio.run(main())
    assert len(seen.said) == 4
    seen.check()


def test_a_paused_swarm_goes_on(seen: Recording) -> None:
    async def main() -> None:
        lines = call("transfer_to_user"), "Booked. TERMINATE"
        clerk = agent("clerk", *lines, handoffs=["user"])
        ends = HandoffTermination("user") | TextMentionTermination("TERMINATE")
        team = Swarm([clerk], termination_condition=ends)
        await team.run(task="Book a flight.")
        answer = HandoffMessage(source="user", target="clerk", content="Window seat.")
        await team.run(task=answer)

    asyncio.run(main())
    first, second = seen.of(RunStarted)
    assert first.run_id == second.run_id
    assert second.resumed
    assert [event.text for event in seen.of(HumanReplied)] == ["Window seat."]
    assert [outcome for outcome, _ in seen.ends] == ["paused", "completed"]
    spans = [span for span in seen.spans if span.name.startswith("invoke_workflow")]
    assert len({span.context.trace_id for span in spans if span.context}) == 1


def test_a_team_that_runs_already(seen: Recording) -> None:
    async def main() -> None:
        team = pair(None, max_turns=2)
        stream = team.run_stream(task="Count.")
        await anext(stream)
        with pytest.raises(ValueError, match="already running"):
            await team.run(task="Again.")
        assert [item async for item in stream]

    asyncio.run(main())
    assert len(seen.of(RunStarted)) == 1
    assert seen.said == [("alice", "one"), ("bob", "two")]
    seen.check()


def test_runs_side_by_side_and_in_threads(seen: Recording) -> None:
    async def two() -> None:
        await asyncio.gather(*(pair(None, max_turns=4).run(task=f"{n}.") for n in range(2)))

    async def one() -> None:
        await pair(None, max_turns=4).run(task="in a thread")

    threads = [threading.Thread(target=asyncio.run, args=(one(),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    asyncio.run(two())
    for thread in threads:
        thread.join()
    runs = {event.run_id for event in seen.of(RunStarted)}
    assert len(runs) == 4
    for run in runs:
        mine = [event for event in seen.events if event.run_id == run]
        said = [getattr(event, "text", None) for event in mine if hasattr(event, "sender")]
        assert said == ["one", "two", "three", "four"]
    seen.check()


def test_a_run_inside_a_run_of_the_hosts_own(seen: Recording) -> None:
    run = seen.emitter.start_run("mine", framework="custom", task="All of it.")
    with run.attached():
        asyncio.run(pair(None, max_turns=1).run(task="Count."))
    run.finish("completed")
    assert [event.branch for event in seen.of(RunStarted)] == ["", "1"]
    seen.check()


def test_nothing_is_kept(seen: Recording) -> None:
    import weakref

    async def main() -> list[Any]:
        alice = agent("alice", "one")
        team = RoundRobinGroupChat([alice], max_turns=1)
        result = await team.run(task="Count.")
        return [weakref.ref(thing) for thing in (alice, team, result.messages[-1])]

    kept = asyncio.run(main())
    gc.collect()
    assert [reference() for reference in kept] == [None] * 3
