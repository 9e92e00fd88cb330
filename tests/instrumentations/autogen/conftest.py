"""Every test here runs the real AG2 with scripted models; without AG2 there is nothing to run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from mastwatch.events import (
    Event,
    MessageSent,
    ModelCalled,
    RunFinished,
    RunStarted,
    ToolCalled,
    ToolReturned,
)
from mastwatch.spans.emit import Emitter

collect_ignore_glob = [] if find_spec("autogen") else ["*"]

_TESTS = str(Path(__file__).parents[2])
if _TESTS not in sys.path:
    sys.path.insert(0, _TESTS)  # for ``apps``

INDEX = "mastwatch.message.index"


class Recorder:
    """A watch that writes everything down, and the spans beside it."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.exporter = InMemorySpanExporter()
        self.broken = False
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.provider = provider
        self.emitter = Emitter(watch=self, tracer=provider.get_tracer("mastwatch"))

    def observe(self, event: Event) -> list[Any]:
        if self.broken:
            raise ZeroDivisionError
        self.events.append(event)
        return []

    def deliver(self, event: Event, verdicts: list[Any]) -> None:
        pass

    def of(self, kind: type[Any], **having: Any) -> list[Any]:
        found = [event for event in self.events if isinstance(event, kind)]
        return [e for e in found if all(getattr(e, k) == v for k, v in having.items())]

    @property
    def messages(self) -> list[MessageSent]:
        return self.of(MessageSent)

    @property
    def said(self) -> list[tuple[str, str | None]]:
        return [(message.sender, message.text) for message in self.messages]

    @property
    def started(self) -> list[RunStarted]:
        return self.of(RunStarted)

    @property
    def finished(self) -> list[RunFinished]:
        return self.of(RunFinished)

    @property
    def ends(self) -> list[tuple[str, str]]:
        return [(event.outcome, event.reason) for event in self.finished]

    @property
    def models(self) -> list[ModelCalled]:
        return self.of(ModelCalled)

    @property
    def tools(self) -> list[tuple[str, str, str | None]]:
        return [(e.agent, e.name, e.call_id) for e in self.of(ToolCalled)]

    @property
    def results(self) -> list[ToolReturned]:
        return self.of(ToolReturned)

    @property
    def spans(self) -> list[ReadableSpan]:
        return sorted(self.exporter.get_finished_spans(), key=lambda span: span.start_time or 0)

    def names(self) -> list[str]:
        return [span.name for span in self.spans]

    def check(self) -> None:
        """What holds for every app: one span per utterance and call, whole traces, ended runs."""
        spans = self.spans
        carriers = [dict(s.attributes or {}) for s in spans if INDEX in (s.attributes or {})]
        assert sorted(str((c["mastwatch.run.id"], c[INDEX])) for c in carriers) == sorted(
            str((m.run_id, m.index)) for m in self.messages
        )
        by_row = {(c["mastwatch.run.id"], c[INDEX]): c for c in carriers}
        for message in self.messages:
            carrier = by_row[message.run_id, message.index]
            assert carrier["mastwatch.message.sender"] == message.sender
            assert carrier.get("mastwatch.message.recipient", ()) == message.recipients
            assert carrier["gen_ai.agent.name"] == message.sender
        tools = [span for span in spans if span.name.startswith("execute_tool")]
        assert len(tools) == len(self.tools) == len(self.results)
        runs = {event.run_id for event in self.started}
        roots = [span for span in spans if span.parent is None]
        assert len(roots) == len(runs)
        assert {span.name.split()[0] for span in roots} <= {"invoke_workflow"}
        ids = {span.context.span_id for span in spans if span.context}
        assert all(span.parent.span_id in ids for span in spans if span.parent)
        traces = {
            (span.attributes or {})["mastwatch.run.id"]: span.context.trace_id
            for span in spans
            if span.context
        }
        assert len(set(traces.values())) == len(runs)
        begun = sorted((event.run_id, event.branch) for event in self.started)
        assert sorted((event.run_id, event.branch) for event in self.finished) == begun
        assert self.emitter.current() is None
        assert not trace.get_current_span().get_span_context().is_valid


@pytest.fixture
def seen() -> Iterator[Recorder]:
    """A recorder with AG2 instrumented; everything is checked and undone at the end."""
    from mastwatch_instrumentations.autogen import AutoGenInstrumentor

    recorder = Recorder()
    instrumentor = AutoGenInstrumentor()
    instrumentor.install(recorder.emitter)
    try:
        yield recorder
    finally:
        instrumentor.uninstall()
        assert leftovers() == []


@pytest.fixture
def recorder() -> Recorder:
    """A recorder without any instrumentation."""
    return Recorder()


def leftovers() -> list[str]:
    """Methods of AG2's classes that still are wrappers of ours."""
    from mastwatch_instrumentations.autogen.library import load

    library = load()
    classes = (library.agent, library.manager, library.group, library.wrapper)
    classes += (library.termination, *library.responses)
    return [
        f"{kind.__name__}.{name}"
        for kind in classes
        if kind is not None
        for name, value in vars(kind).items()
        if "__mastwatch_site__" in getattr(value, "__dict__", {})
    ]
