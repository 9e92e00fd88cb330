"""However an app is driven, the same is seen; and how its runs end."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langgraph.graph import START, MessagesState, StateGraph

from apps import langgraph_apps as apps
from mastwatch.events import ModelCalled, RunStarted, ToolReturned

INPUT = apps.INPUT
AGENT = [(0, "assistant"), (3, "assistant")]


async def _ainvoke(app: Any) -> None:
    await app.ainvoke(INPUT)


async def _astream(app: Any) -> None:
    async for _ in app.astream(INPUT, stream_mode="messages"):
        pass


async def _aevents(app: Any) -> None:
    async for _ in app.astream_events(INPUT, version="v2"):
        pass


def _thread(app: Any) -> None:
    thread = threading.Thread(target=app.invoke, args=(INPUT,))
    thread.start()
    thread.join()


DRIVES: dict[str, Any] = {
    "invoke": lambda app: app.invoke(INPUT),
    "stream": lambda app: list(app.stream(INPUT)),
    "stream messages": lambda app: list(app.stream(INPUT, stream_mode="messages")),
    "stream subgraphs": lambda app: list(app.stream(INPUT, subgraphs=True)),
    "ainvoke": lambda app: asyncio.run(_ainvoke(app)),
    "astream": lambda app: asyncio.run(_astream(app)),
    "astream_events": lambda app: asyncio.run(_aevents(app)),
    "thread": _thread,
    "batch": lambda app: app.batch([INPUT]),
    "bare pool": lambda app: ThreadPoolExecutor(1).submit(app.invoke, INPUT).result(),
}


@pytest.mark.parametrize("drive", DRIVES.values(), ids=DRIVES.keys())
def test_supervisor_is_the_same_in_all_modes(seen, drive):
    drive(apps.supervisor_app())
    assert seen.said() == apps.SUPERVISED
    assert seen.carriers() == apps.SUPERVISED_CARRIERS
    assert len(seen.watch.of(ToolReturned)) == len(seen.named("execute_tool")) == 3
    assert len(seen.watch.of(ModelCalled)) == len(seen.named("chat")) == 6
    assert len({span.context.trace_id for span in seen.spans}) == 1
    assert seen.outcomes == [("completed", "end of graph")]
    assert seen.open == 0


@pytest.mark.parametrize("drive", DRIVES.values(), ids=DRIVES.keys())
def test_agent_is_the_same_in_all_modes(seen, drive):
    drive(apps.tool_agent_app())
    assert [row[:2] for row in seen.said()] == AGENT
    assert seen.carriers() == {0: "chat scripted", 3: "invoke_agent assistant"}
    assert len(seen.watch.of(ToolReturned)) == len(seen.named("execute_tool")) == 2
    assert seen.outcomes == [("completed", "end of graph")]
    assert seen.open == 0


def test_batch_gives_one_run_per_input(seen):
    def echo(messages: list[Any]) -> str:
        return f"echo {messages[-1].content}"

    app = apps.tool_agent_app([echo])
    app.batch([{"messages": [("user", str(number))]} for number in range(8)])
    assert len(seen.runs) == 8
    tasks = {event.run_id: event.task for event in seen.watch.of(RunStarted)}
    for run_id in seen.runs:
        assert seen.said(run_id) == [(0, "assistant", f"echo {tasks[run_id]}")]
    assert len({span.context.trace_id for span in seen.spans}) == 8


def test_a_streaming_model_says_one_thing(seen):
    """Tokens are no utterances."""
    from langchain_core.language_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage

    model = GenericFakeChatModel(messages=iter([AIMessage("one two three four")]))
    assert len(list(model.stream("count"))) > 3
    assert seen.said() == [(0, "assistant", "one two three four")]


def test_stream_left_early_is_abandoned(seen):
    for _ in apps.supervisor_app().stream(INPUT):
        break
    assert seen.outcomes == [("abandoned", "stream closed before its end")]
    assert not [span for span in seen.spans if not span.status.is_ok]
    assert seen.open == 0


async def test_async_stream_left_early_is_abandoned(seen):
    stream = apps.supervisor_app().astream(INPUT)
    async for _ in stream:
        break
    await stream.aclose()
    assert [outcome for outcome, _ in seen.outcomes] == ["abandoned"]
    assert seen.open == 0


def _slow_app() -> Any:
    async def wait(state: MessagesState) -> dict[str, Any]:
        await asyncio.sleep(30)
        return {"messages": []}

    graph = StateGraph(MessagesState)
    graph.add_node("waiter", wait)
    graph.add_edge(START, "waiter")
    return graph.compile(name="slow")


async def test_cancelled_task_is_cancelled(seen):
    task = asyncio.create_task(_slow_app().ainvoke(INPUT))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen.outcomes == [("cancelled", "CancelledError")]
    assert not [span for span in seen.spans if not span.status.is_ok]
    assert seen.open == 0


async def test_wait_for_is_cancelled(seen):
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(_slow_app().ainvoke(INPUT), 0.05)
    assert [outcome for outcome, _ in seen.outcomes] == ["cancelled"]
    assert seen.open == 0


async def test_cancelled_in_a_tool_leaves_nothing_open(seen):
    """LangChain does not report a tool's cancellation; its span ends with the run."""
    from langchain_core.tools import tool

    @tool
    async def nap(seconds: int) -> str:
        """Sleep."""
        await asyncio.sleep(seconds)
        return "woke up"

    app = apps.tool_agent_app([apps.calls(("nap", {"seconds": 30})), "Fine."], tools=[nap])
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(app.ainvoke(INPUT), 0.1)
    assert [outcome for outcome, _ in seen.outcomes] == ["cancelled"]
    assert len(seen.named("execute_tool")) == 1
    assert seen.open == 0


@pytest.mark.slow
async def test_a_hundred_runs_on_one_loop_are_kept_apart(seen):
    async def one(number: int) -> None:
        app = apps.supervisor_app(
            researcher=[apps.calls(("lookup", {"city": f"c{number}"})), f"answer {number}"]
        )
        await app.ainvoke({"messages": [("user", f"task {number}")]})

    await asyncio.gather(*(one(number) for number in range(100)))
    tasks = {event.run_id: event.task or "" for event in seen.watch.of(RunStarted)}
    assert len(tasks) == 100
    for run_id, task in tasks.items():
        number = task.split()[1]
        assert seen.said(run_id)[2] == (4, "researcher", f"answer {number}")
        assert [row[0] for row in seen.said(run_id)] == [0, 2, 4, 5, 7, 8]
        assert seen.watch.of(ToolReturned, run_id=run_id)[1].result == f"c{number}: 128928"
    by_trace: dict[int, set[Any]] = {}
    for span in seen.spans:
        by_trace.setdefault(span.context.trace_id, set()).add(span.attributes["mastwatch.run.id"])
    assert len(by_trace) == 100
    assert all(len(runs) == 1 for runs in by_trace.values())
    assert seen.open == 0


def test_a_stream_kept_but_not_read_expires(seen, monkeypatch):
    from mastwatch_instrumentations.langchain import state

    kept = apps.supervisor_app().stream(INPUT)
    next(kept)
    assert seen.outcomes == []
    monkeypatch.setattr(state, "IDLE_SECONDS", 0.0)
    apps.tool_agent_app().invoke(INPUT)
    assert seen.outcomes[0][0] == "unknown"
    kept.close()
    assert [outcome for outcome, _ in seen.outcomes] == ["unknown", "completed"]
    assert seen.open == 0


def test_too_many_runs_close_the_oldest(seen, monkeypatch):
    from mastwatch_instrumentations.langchain import state

    monkeypatch.setattr(state, "MAX_SESSIONS", 3)
    kept = [apps.supervisor_app().stream(INPUT) for _ in range(5)]
    for stream in kept:
        next(stream)
    assert [outcome for outcome, _ in seen.outcomes] == ["unknown", "unknown"]
    for stream in kept:
        stream.close()
    assert len(seen.outcomes) == 5
    assert seen.open == 0
