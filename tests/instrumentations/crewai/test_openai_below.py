"""CrewAI's own OpenAI model: one call is one model call, though the SDK below is watched too."""

from __future__ import annotations

import pytest
from crewai import LLM, Crew
from prometheus_client import CollectorRegistry

import mastwatch
from apps.crewai_crews import agent, final, population, task
from mastwatch.events import Event, MessageSent, ModelCalled
from mastwatch.sink import Sink
from mastwatch.testing.model_server import ScriptedModelServer


class Told(Sink):
    def __init__(self) -> None:
        self.events: list[Event] = []

    def on_event(self, event: Event, framework: str) -> None:
        self.events.append(event)


def test_a_call_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    told = Told()
    with ScriptedModelServer([final("Ask the town hall.")]) as server:
        model = LLM(model="openai/gpt-4o-mini", base_url=server.url)
        worker = agent("Writer", model, population)
        with mastwatch.instrument(registry=CollectorRegistry()) as handle:
            handle.add_sink(told)
            Crew(agents=[worker], tasks=[task("Who knows?", worker)]).kickoff()

    (call,) = [event for event in told.events if isinstance(event, ModelCalled)]
    assert (call.agent, call.model, call.provider) == ("Writer", "gpt-4o-mini", "openai")
    assert call.input_tokens is not None  # the SDK's hook tells them
    assert [(e.sender, e.tool_calls) for e in told.events if isinstance(e, MessageSent)] == [
        ("Writer", ())
    ]
