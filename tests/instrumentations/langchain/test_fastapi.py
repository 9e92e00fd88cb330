"""A FastAPI app that serves LangGraph runs, many at once on one loop, some clients hanging up."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx")
pytest.importorskip("opentelemetry.instrumentation.fastapi")

import httpx
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor

from apps import langgraph_apps as apps
from mastwatch.events import HumanReplied, MessageSent, RunFinished, RunStarted, ToolReturned

REQUESTS = 100


@tool
async def slow_lookup(city: str) -> str:
    """Look a city up, slowly; for ever if it is nowhere."""
    await asyncio.sleep(60 if city == "nowhere" else 0.05)
    return f"{city}: 1"


def _answer(messages: list[Any]) -> Any:
    last = messages[-1]
    if last.type == "tool":
        return f"It is {last.content}"
    return apps.calls(("slow_lookup", {"city": last.content}))


def _input(city: str) -> dict[str, Any]:
    return {"messages": [("user", city)]}


def _server(seen: Any) -> FastAPI:
    server = FastAPI()
    agent = apps.tool_agent_app([_answer], tools=[slow_lookup])  # one graph for all requests
    approval = apps.approval_app(InMemorySaver())

    @server.get("/ask/{city}")
    async def ask(city: str) -> str:
        result = await agent.ainvoke(_input(city), {"configurable": {"thread_id": city}})
        return str(result["messages"][-1].content)

    @server.get("/ask-sync/{city}")
    def ask_sync(city: str) -> str:
        result = apps.supervisor_app(writer=[f"about {city}"]).invoke(_input(city))
        return str(result["messages"][-1].content)

    @server.get("/stream/{city}")
    async def stream(city: str) -> StreamingResponse:
        async def lines() -> AsyncIterator[str]:
            async for chunk in agent.astream(_input(city)):
                yield f"{next(iter(chunk))}\n"

        return StreamingResponse(lines())

    @server.post("/publish/{thread}")
    async def publish(thread: str, answer: str | None = None) -> str:
        config = {"configurable": {"thread_id": thread}}
        command: Any = Command(resume=answer) if answer else _input("Publish it.")
        result = await approval.ainvoke(command, config)
        return "waiting" if "__interrupt__" in result else str(result["messages"][-1].content)

    FastAPIInstrumentor.instrument_app(server, tracer_provider=seen.provider)
    return server


def _client(server: FastAPI) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app=server)
    return httpx.AsyncClient(transport=transport, base_url="http://test", timeout=30)


def _run_spans(seen: Any) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for span in seen.spans:
        run_id = span.attributes.get("mastwatch.run.id")
        if run_id:
            found.setdefault(run_id, []).append(span)
    return found


def _requests(seen: Any) -> dict[int, str]:
    """Return the path of each HTTP request by its trace."""
    return {
        span.context.trace_id: span.attributes["http.target"]
        for span in seen.spans
        if span.parent is None and "http.target" in span.attributes
    }


async def test_a_hundred_requests_at_once(seen):
    """Each run is its own and lies in the trace of its request."""
    async with _client(_server(seen)) as client:
        cities = [f"city{number}" for number in range(REQUESTS)]
        answers = await asyncio.gather(*(client.get(f"/ask/{city}") for city in cities))
    assert [answer.json() for answer in answers] == [f"It is {city}: 1" for city in cities]
    tasks = {event.run_id: event.task for event in seen.watch.of(RunStarted)}
    assert sorted(tasks.values()) == sorted(cities)
    paths = _requests(seen)
    for run_id, spans in _run_spans(seen).items():
        city = tasks[run_id]
        assert [m.text for m in seen.watch.of(MessageSent, run_id=run_id)] == [
            "",
            f"It is {city}: 1",
        ]
        assert [e.result for e in seen.watch.of(ToolReturned, run_id=run_id)] == [f"{city}: 1"]
        (trace_id,) = {span.context.trace_id for span in spans}
        assert paths[trace_id] == f"/ask/{city}"
        assert len(spans) == 5  # run, turn, chat, tool, chat
    assert {outcome for outcome, _ in seen.outcomes} == {"completed"}
    assert seen.open == 0


async def test_sync_endpoints_in_the_thread_pool(seen):
    async with _client(_server(seen)) as client:
        await asyncio.gather(*(client.get(f"/ask-sync/c{number}") for number in range(20)))
    paths = _requests(seen)
    tasks = {event.run_id: event.task for event in seen.watch.of(RunStarted)}
    assert len(tasks) == 20
    for run_id, spans in _run_spans(seen).items():
        (trace_id,) = {span.context.trace_id for span in spans}
        assert paths[trace_id] == f"/ask-sync/{tasks[run_id]}"
        assert seen.said(run_id)[4] == (7, "writer", f"about {tasks[run_id]}")
    assert seen.open == 0


async def test_cancelled_requests_end_as_cancelled(seen):
    """Ten of a hundred requests are cancelled in the middle of a tool; the others never notice."""
    async with _client(_server(seen)) as client:
        cities = ["nowhere" if number % 10 == 0 else f"c{number}" for number in range(REQUESTS)]
        tasks = [asyncio.create_task(client.get(f"/ask/{city}")) for city in cities]
        done = [task for task, city in zip(tasks, cities, strict=True) if city != "nowhere"]
        await asyncio.gather(*done)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    outcomes = [outcome for outcome, _ in seen.outcomes]
    assert (outcomes.count("completed"), outcomes.count("cancelled")) == (90, 10)
    assert len(outcomes) == len(seen.runs) == REQUESTS
    stuck = {e.run_id for e in seen.watch.of(RunStarted) if e.task == "nowhere"}
    assert {e.run_id for e in seen.watch.of(RunFinished) if e.outcome == "cancelled"} == stuck
    for run_id in stuck:
        assert seen.watch.of(ToolReturned, run_id=run_id) == []
    for spans in _run_spans(seen).values():
        assert len({span.context.trace_id for span in spans}) == 1
        assert all(span.status.is_ok for span in spans)
    assert seen.open == 0


@asynccontextmanager
async def _serving(server: FastAPI) -> AsyncIterator[str]:
    uvicorn = pytest.importorskip("uvicorn")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = uvicorn.Config(server, host="127.0.0.1", port=port, log_level="warning")
    running = uvicorn.Server(config)
    task = asyncio.create_task(running.serve())
    while not running.started:
        await asyncio.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        running.should_exit = True
        await task


async def test_clients_that_hang_up_leave_no_run_open(seen):
    """Over a real socket: a stream whose reader goes away ends, and its run with it."""
    async with _serving(_server(seen)) as url:

        async def read(client: httpx.AsyncClient, city: str) -> None:
            async with client.stream("GET", f"{url}/stream/{city}") as response:
                async for _ in response.aiter_lines():
                    if city == "nowhere":
                        return  # hangs up after the first line; the tool never comes back

        async with httpx.AsyncClient(timeout=30) as client:
            cities = ["nowhere" if number % 5 == 0 else f"c{number}" for number in range(20)]
            await asyncio.gather(*(read(client, city) for city in cities))
        for _ in range(200):
            if not seen.open:
                break
            await asyncio.sleep(0.02)
        assert seen.open == 0
    outcomes = [outcome for outcome, _ in seen.outcomes]
    assert len(outcomes) == 20
    assert outcomes.count("completed") == 16
    assert set(outcomes) <= {"completed", "cancelled", "abandoned"}
    paths = _requests(seen)
    tasks = {event.run_id: event.task for event in seen.watch.of(RunStarted)}
    for run_id, spans in _run_spans(seen).items():
        (trace_id,) = {span.context.trace_id for span in spans}
        assert paths.get(trace_id) == f"/stream/{tasks[run_id]}"


async def test_a_person_answers_in_a_later_request(seen):
    """One conversation over two requests is one run; each request keeps its own trace."""
    async with _client(_server(seen)) as client:
        waiting = await asyncio.gather(*(client.post(f"/publish/t{n}") for n in range(10)))
        assert {answer.json() for answer in waiting} == {"waiting"}
        assert {outcome for outcome, _ in seen.outcomes} == {"paused"}
        assert seen.open == 0
        url = "/publish/t{}?answer=yes{}"
        await asyncio.gather(*(client.post(url.format(n, n)) for n in range(5)))
    assert len(seen.runs) == 10
    resumed = {e.run_id: e.conversation_id for e in seen.watch.of(RunStarted) if e.resumed}
    assert sorted(resumed.values()) == [f"t{number}" for number in range(5)]
    for run_id, thread in resumed.items():
        number = thread[1:]
        assert [e.text for e in seen.watch.of(HumanReplied, run_id=run_id)] == [f"yes{number}"]
        results = [e.result for e in seen.watch.of(ToolReturned, run_id=run_id)]
        assert results == [f"published after: yes{number}"]
        roots = [s for s in _run_spans(seen)[run_id] if s.name.startswith("invoke_workflow")]
        assert len({span.context.trace_id for span in roots}) == 2
    assert [outcome for outcome, _ in seen.outcomes].count("completed") == 5
    assert seen.open == 0
