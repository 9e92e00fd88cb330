"""A pair of scripted agents, and Pydantic AI as nobody has touched it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import mastwatch
from mastwatch.events import Event
from mastwatch.sink import Sink

collect_ignore_glob = [] if find_spec("pydantic_ai") else ["*"]


class Heard(Sink):
    """Every event, and the spans that leave the process."""

    name = "heard"

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.exporter = InMemorySpanExporter()

    def on_event(self, event: Event, framework: str) -> None:
        self.events.append(event)

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def spans(self) -> list[Any]:
        return list(self.exporter.get_finished_spans())


@pytest.fixture
def heard() -> Iterator[Heard]:
    """Pydantic AI under ``instrument()``; the spans are those of the global provider."""
    from pydantic_ai import Agent

    before = Agent._instrument_default
    heard = Heard()
    with mastwatch.instrument(frameworks=["pydantic_ai"], metrics="none") as handle:
        handle.add_sink(heard)
        provider = trace.get_tracer_provider()
        assert isinstance(provider, TracerProvider)
        processor = SimpleSpanProcessor(heard.exporter)
        provider.add_span_processor(processor)
        yield heard
        processor.shutdown()
    Agent.instrument_all(before)
