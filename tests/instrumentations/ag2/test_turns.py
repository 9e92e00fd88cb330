"""What is told of an agent that is asked directly: turns, tools, people, ends."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from ag2 import Agent, Context
from ag2.events import ModelMessage, ModelResponse, ToolCallsEvent, Usage
from ag2.exceptions import HumanInputError
from ag2.middleware import BaseMiddleware, Middleware
from ag2.testing import TestConfig

from apps.ag2_apps import agent, call, price
from mastwatch.events import (
    HumanAsked,
    HumanReplied,
    MessageSent,
    ModelCalled,
    RunFinished,
    RunStarted,
    ToolReturned,
)
from mastwatch.spans.suppress import untraced
from mastwatch.testing.recording import Recording
from mastwatch_instrumentations.ag2 import Ag2Instrumentor

TEA = call("price", '{"item": "tea"}', "c1")


async def test_turn_is_a_run_with_its_tool_and_model_calls(recording: Recording) -> None:
    shop = agent("shop", TEA, "Tea is 4 euros.", tools=[price])

    reply = await shop.ask("What is tea?")

    assert reply.body == "Tea is 4 euros."
    assert recording.said == [("shop", ""), ("shop", "Tea is 4 euros.")]
    assert recording.tools == [("shop", "price", {"item": "tea"})]
    assert recording.results == [("price", "tea: 4 euros", None)]
    assert recording.ends == [("completed", "final response")]
    [started] = recording.of(RunStarted)
    assert (started.task, started.prompts) == ("What is tea?", {"shop": "You are shop."})
    assert [message.index for message in recording.of(MessageSent)] == [0, 2]
    names = [span.name for span in recording.spans]
    assert names == [
        "invoke_workflow shop",
        "invoke_agent shop",
        "chat",
        "execute_tool price",
        "chat",
    ]
    recording.check()


async def test_request_is_a_snapshot_of_what_the_model_is_sent(recording: Recording) -> None:
    await agent("shop", TEA, "Tea is 4 euros.", tools=[price]).ask("What is tea?")

    first, second = recording.of(ModelCalled)
    assert [(m.role, m.content) for m in first.request or ()] == [
        ("system", "You are shop."),
        ("user", "What is tea?"),
    ]
    assert [(m.role, m.content) for m in second.request or ()] == [
        ("system", "You are shop."),
        ("user", "What is tea?"),
        ("assistant", ""),
        ("tool", "tea: 4 euros"),
    ]
    assert first.turn == second.turn != ""


async def test_model_provider_and_tokens_are_told(recording: Recording) -> None:
    said = ModelResponse(
        ModelMessage("Four euros it is."),
        usage=Usage(prompt_tokens=11, completion_tokens=5),
        model="small-2",
        provider="gemini",
        finish_reason="stop",
    )
    await agent("shop", said).ask("What is tea?")

    [called] = recording.models
    assert (called.model, called.provider) == ("small-2", "gcp.gemini")
    assert (called.input_tokens, called.output_tokens) == (11, 5)
    assert recording.ends == [("completed", "stop")]
    recording.check()


async def test_agent_made_before_is_watched_once(recording: Recording) -> None:
    shop = agent("shop", "One.", "Two.")
    second = Ag2Instrumentor()
    second.install(recording.emitter)  # what is wrapped stays wrapped once

    await shop.ask("Count.")

    assert recording.said == [("shop", "One.")]
    second.uninstall()


async def test_failing_tool_is_the_tools_error_and_not_the_runs(recording: Recording) -> None:
    def price(item: str) -> str:
        """Look up a price."""
        raise LookupError("no such item")

    reply = await agent("shop", TEA, "I do not know.", tools=[price]).ask("What is tea?")

    assert reply.body == "I do not know."
    [(name, result, error)] = recording.results
    assert (name, error) == ("price", "LookupError")
    assert "no such item" in (result or "")
    assert recording.ends == [("completed", "final response")]
    recording.check()


async def test_tool_that_does_not_exist_is_a_failed_call(recording: Recording) -> None:
    shop = agent("shop", call("prize", '{"item": "tea"}'), "I have no such tool.", tools=[price])

    await shop.ask("What is tea?")

    assert recording.tools == [("shop", "prize", {"item": "tea"})]
    assert recording.results[0][2] == "ag2.exceptions.ToolNotFoundError"
    assert [event.index for event in recording.of(ToolReturned)] == [1]
    recording.check()


async def test_parallel_and_sync_tools_keep_their_run(recording: Recording) -> None:
    threads = set()

    def price(item: str) -> str:
        """Look up a price."""
        scope = recording.emitter.current()
        threads.add((threading.get_ident(), scope is not None))
        return item

    both = ToolCallsEvent([call("price", '{"item": "a"}'), call("price", '{"item": "b"}')])
    shop = agent("shop", ModelResponse(tool_calls=both), "Both.", tools=[price])
    await shop.ask("Both?")

    assert sorted(result or "" for _, result, _ in recording.results) == ["a", "b"]
    assert len(recording.of(MessageSent)[0].tool_calls) == 2
    assert all(inside for _, inside in threads)
    recording.check()


async def test_agent_as_tool_is_a_branch(recording: Recording) -> None:
    expert = agent("expert", "Green tea.")
    ask = call("task_expert", '{"objective": "Which tea?"}')
    shop = agent("shop", ask, "Take green tea.", tools=[expert.as_tool(description="Knows tea.")])

    reply = await shop.ask("Which tea?")

    assert reply.body == "Take green tea."
    assert recording.said == [("shop", ""), ("expert", "Green tea."), ("shop", "Take green tea.")]
    outer, inner = recording.of(RunStarted)
    assert (outer.branch, inner.branch, inner.task) == ("", "1", "Which tea?")
    told = {message.text: message.recipients for message in recording.of(MessageSent)}
    assert told["Green tea."] == ("shop",)
    assert outer.run_id == inner.run_id
    assert [event.branch for event in recording.of(RunFinished)] == ["1", ""]
    recording.check()


async def test_sub_tasks_share_one_name(recording: Recording) -> None:
    from ag2.agent import TaskConfig

    spawn = call("run_subtask", '{"task": "Count to three."}')
    shop = agent(
        "shop",
        spawn,
        "Done.",
        tasks=TaskConfig(config=TestConfig("One, two, three.")),
    )

    await shop.ask("Count.")

    assert recording.said[1] == ("subtask", "One, two, three.")
    recording.check()


async def test_person_is_waited_for(recording: Recording) -> None:
    async def confirm(context: Context) -> str:
        """Ask for a confirmation."""
        return await context.input("Shall I?")

    shop = agent("shop", call("confirm"), "Good.", tools=[confirm], hitl_hook=lambda event: "Yes!")

    await shop.ask("Order tea.")

    [asked], [replied] = recording.of(HumanAsked), recording.of(HumanReplied)
    assert (asked.agent, replied.agent, replied.text) == ("shop", "shop", "Yes!")
    recording.check()


async def test_sub_agents_question_goes_through_the_turn_around_it(recording: Recording) -> None:
    async def confirm(context: Context) -> str:
        """Ask for a confirmation."""
        return await context.input("Shall I?")

    expert = agent("expert", call("confirm"), "Confirmed.", tools=[confirm])
    ask = call("task_expert", '{"objective": "Confirm."}')
    tools = [expert.as_tool(description="Confirms.")]
    shop = agent("shop", ask, "Good.", tools=tools, hitl_hook=lambda event: "Yes!")

    await shop.ask("Order tea.")

    [asked], [replied] = recording.of(HumanAsked), recording.of(HumanReplied)
    assert asked.branch == replied.branch == "1"
    assert [result for _, result, _ in recording.results] == ["Yes!", "Confirmed."]
    recording.check()


async def test_nobody_to_ask_is_the_runs_error(recording: Recording) -> None:
    async def confirm(context: Context) -> str:
        """Ask for a confirmation."""
        return await context.input("Shall I?")

    with pytest.raises(HumanInputError):
        await agent("shop", call("confirm"), tools=[confirm]).ask("Order tea.")

    assert [outcome for outcome, _ in recording.ends] == ["error"]
    assert len(recording.results) == 1
    recording.check()


async def test_run_block_is_a_run(recording: Recording) -> None:
    seen = []
    shop = agent("shop", ModelMessage("chunk"), "Here.")

    async with shop.run("Tea?") as run:
        run.stream.subscribe(lambda event: seen.append(type(event).__name__))
        assert recording.events == []
        reply = await run.result()

    assert reply.body == "Here."
    assert "ModelResponse" in seen
    assert recording.said == [("shop", "Here.")]
    recording.check()


async def test_block_that_is_left_early_is_abandoned(recording: Recording) -> None:
    begun, shop = asyncio.Event(), agent("shop", call("wait"))

    @shop.tool
    async def wait() -> str:
        """Wait."""
        begun.set()
        await asyncio.sleep(60)
        return "late"

    async with shop.run("Tea?") as run:
        run.start()
        await begun.wait()

    assert recording.ends == [("abandoned", "the block of run() was left")]
    assert recording.results == [("wait", None, "asyncio.exceptions.CancelledError")]
    recording.check()


async def test_block_that_raises_is_abandoned(recording: Recording) -> None:
    error = KeyError("of the host's own")
    begun, shop = asyncio.Event(), agent("shop", call("wait"))

    @shop.tool
    async def wait() -> str:
        """Wait."""
        begun.set()
        await asyncio.sleep(60)
        return "late"

    async def host() -> None:
        async with shop.run("Tea?") as run:
            run.start()
            await begun.wait()
            raise error

    with pytest.raises(KeyError) as raised:
        await host()

    assert raised.value is error
    assert recording.ends == [("abandoned", "the block of run() was left")]
    recording.check()


async def test_time_limit_is_a_cancellation(recording: Recording) -> None:
    shop = agent("shop", call("wait"))

    @shop.tool
    async def wait() -> str:
        """Wait."""
        await asyncio.sleep(60)
        return "late"

    with pytest.raises(asyncio.TimeoutError):
        async with shop.run("Tea?") as run:
            await asyncio.wait_for(run.result(), 0.05)

    assert recording.ends == [("cancelled", "CancelledError")]
    recording.check()


async def test_cancelled_ask_is_cancelled(recording: Recording) -> None:
    begun, shop = asyncio.Event(), agent("shop", call("wait"))

    @shop.tool
    async def wait() -> str:
        """Wait."""
        begun.set()
        await asyncio.sleep(60)
        return "late"

    task = asyncio.create_task(shop.ask("Tea?"))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert recording.ends == [("cancelled", "CancelledError")]
    recording.check()


async def test_failing_model_is_the_runs_error_and_the_same_object(recording: Recording) -> None:
    error = RuntimeError("the provider is down")
    with pytest.raises(RuntimeError) as raised:
        await agent("shop", error).ask("Tea?")

    assert raised.value is error
    assert recording.ends == [("error", "RuntimeError")]
    assert [model.error for model in recording.models] == ["RuntimeError"]
    recording.check()


async def test_second_question_is_a_run_of_the_same_conversation(recording: Recording) -> None:
    reply = await agent("shop", "Green.", "Four.").ask("Which?")
    await reply.ask("How much?")

    first, second = recording.of(RunStarted)
    assert first.run_id != second.run_id
    assert first.conversation_id == second.conversation_id
    assert second.task == "How much?"
    recording.check()


async def test_concurrent_runs_stay_apart(recording: Recording) -> None:
    shops = [agent(f"shop-{n}", TEA, f"Four, says {n}.", tools=[price]) for n in range(3)]

    await asyncio.gather(*(shop.ask("Tea?") for shop in shops))

    runs = {event.run_id: event.name for event in recording.of(RunStarted)}
    assert sorted(runs.values()) == ["shop-0", "shop-1", "shop-2"]
    assert all(runs[message.run_id] == message.sender for message in recording.of(MessageSent))
    recording.check()


async def test_asks_inside_a_run_of_the_host_are_steps_of_it(recording: Recording) -> None:
    run = recording.emitter.start_run("shopping", framework="custom", task="Tea")
    with run.attached():
        await agent("shop", "Green.").ask("Which?")
        await agent("bank", "Paid.").ask("Pay.")
    run.finish("completed")

    assert len(recording.of(RunStarted)) == 1
    assert recording.said == [("shop", "Green."), ("bank", "Paid.")]
    recording.check()


async def test_retry_is_two_model_calls_and_one_message(recording: Recording) -> None:
    from ag2.middleware import RetryMiddleware

    shop = agent("shop", ConnectionError("once"), "Here.", middleware=[RetryMiddleware()])

    await shop.ask("Tea?")

    assert [model.error for model in recording.models] == ["ConnectionError", None]
    assert recording.said == [("shop", "Here.")]
    recording.check()


async def test_hosts_middleware_sees_what_it_saw_before(recording: Recording) -> None:
    seen: list[Any] = []

    class Log(BaseMiddleware):
        async def on_turn(self, call_next: Any, event: Any, context: Any) -> Any:
            seen.append("turn")
            return await call_next(event, context)

    shop = agent("shop", "Here.")
    reply = await shop.ask("Tea?", middleware=[Middleware(Log)])

    assert seen == ["turn"]
    assert reply.body == "Here."
    assert not any("Watcher" in each.description.kind for each in shop.middleware)
    names = [type(event).__name__ for event in await reply.history.get_events()]
    assert names == ["ModelRequest", "ModelResponse"]


async def test_suppressed_work_is_not_seen(recording: Recording) -> None:
    with untraced():
        await agent("judge", "Fine.").ask("Judge.")

    assert recording.events == []


async def test_uninstalled_hooks_are_gone() -> None:
    before = vars(Agent)["_drive_scope"]
    instrumentor, recording = Ag2Instrumentor(), Recording()
    instrumentor.install(recording.emitter)
    assert all(instrumentor.hooks().values())
    assert vars(Agent)["_drive_scope"] is not before
    instrumentor.uninstall()

    await agent("shop", "Here.").ask("Tea?")

    assert vars(Agent)["_drive_scope"] is before
    assert recording.events == []
