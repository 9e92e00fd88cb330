"""Writes down what an instrumentor tells, and what holds for every library's instrumentor."""

from __future__ import annotations

from typing import Any, TypeVar

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
from mastwatch.spans import semconv
from mastwatch.spans.content import ContentPolicy
from mastwatch.spans.emit import Emitter

_Kind = TypeVar("_Kind", bound=Event)


class Recording:
    """An emitter to install an instrumentor with, the Events it told and the spans it made.

    Nothing is detected: this is for tests of an instrumentor; use ``mastwatch.instrument()`` to
    see findings.

    Args:
        capture_content: Put text on the spans, as with content capture on.

    Attributes:
        emitter: Given to ``Instrumentor.install``.
        events: In the order they were told.
        provider: The tracer provider whose finished spans are ``spans``.
    """

    def __init__(self, capture_content: bool = False) -> None:
        self.events: list[Event] = []
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        tracer = self.provider.get_tracer("mastwatch")
        self.emitter = Emitter(self, tracer, ContentPolicy(capture_content))

    def observe(self, event: Event) -> list[Any]:
        """Write an event down, in the watch's place."""
        self.events.append(event)
        return []

    def deliver(self, event: Event, verdicts: list[Any] | None) -> None:
        """Nobody to tell."""

    def of(self, kind: type[_Kind], **having: Any) -> list[_Kind]:
        """The events of a kind whose attributes have these values."""
        found = [event for event in self.events if isinstance(event, kind)]
        return [e for e in found if all(getattr(e, k) == v for k, v in having.items())]

    @property
    def said(self) -> list[tuple[str, str | None]]:
        """Who said what."""
        return [(message.sender, message.text) for message in self.of(MessageSent)]

    @property
    def tools(self) -> list[tuple[str, str, object]]:
        """Which agent called which tool with which arguments."""
        return [(event.agent, event.name, event.arguments) for event in self.of(ToolCalled)]

    @property
    def results(self) -> list[tuple[str, str | None, str | None]]:
        """Each tool's name, result and error."""
        return [(event.name, event.result, event.error) for event in self.of(ToolReturned)]

    @property
    def models(self) -> list[ModelCalled]:
        """The model calls."""
        return self.of(ModelCalled)

    @property
    def ends(self) -> list[tuple[str, str]]:
        """Outcome and reason of each run and branch."""
        return [(event.outcome, event.reason) for event in self.of(RunFinished)]

    @property
    def spans(self) -> list[ReadableSpan]:
        """The finished spans, by their start."""
        return sorted(self.exporter.get_finished_spans(), key=lambda span: span.start_time or 0)

    def check(self, *, hushed: int = 0) -> None:
        """Assert what holds for every app.

        One span per utterance, tool call and model call, each run one whole trace, every run
        ended, and the context as it was before.

        Args:
            hushed: Model calls that have a span and no Event: those of a framework's own speaker
                selection.

        Raises:
            AssertionError: It does not hold.
        """
        spans = self.spans
        self._check_carriers(spans)
        kinds = [span.name.split()[0] for span in spans]
        called, returned = len(self.of(ToolCalled)), len(self.results)
        assert called == returned, f"{called} tool calls, {returned} results"
        assert kinds.count(semconv.EXECUTE_TOOL) == called, "a tool call is one span"
        calls = len(self.models) + hushed
        assert kinds.count(semconv.CHAT) == calls, "a model call is one span"
        self._check_traces(spans)
        begun = sorted((event.run_id, event.branch) for event in self.of(RunStarted))
        ended = sorted((event.run_id, event.branch) for event in self.of(RunFinished))
        assert ended == begun, "a run never ended"
        assert self.emitter.current() is None, "a scope is still attached"
        assert not trace.get_current_span().get_span_context().is_valid, "a span is still current"

    def _check_carriers(self, spans: list[ReadableSpan]) -> None:
        about = [dict(span.attributes or {}) for span in spans]
        carriers = {
            (a[semconv.RUN_ID], a[semconv.MESSAGE_INDEX]): a
            for a in about
            if semconv.MESSAGE_INDEX in a
        }
        messages = self.of(MessageSent)
        indexed = len([a for a in about if semconv.MESSAGE_INDEX in a])
        assert indexed == len(messages), f"{len(messages)} utterances on {indexed} spans"
        for message in messages:
            carrier = carriers[message.run_id, message.index]
            assert carrier[semconv.MESSAGE_SENDER] == message.sender
            assert carrier[semconv.AGENT_NAME] == message.sender, "carried by another agent's span"

    def _check_traces(self, spans: list[ReadableSpan]) -> None:
        runs = {event.run_id for event in self.of(RunStarted)}
        roots = [span for span in spans if span.parent is None]
        assert len(roots) == len(runs), "a run is one trace with one root"
        ids = {span.context.span_id for span in spans if span.context}
        assert all(span.parent.span_id in ids for span in spans if span.parent), "a parent is lost"
