"""An instrumented LangChain, what it told the watch, and the spans it made."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

pytest.importorskip("langchain_core", minversion="1.7")
pytest.importorskip("langgraph")
pytest.importorskip("langchain")

from opentelemetry.sdk.trace import ReadableSpan

from mastwatch import guard
from mastwatch.events import MessageSent, RunFinished, RunStarted
from mastwatch.spans import semconv
from mastwatch.testing import Recording
from mastwatch_instrumentations.langchain import LangChainInstrumentor


class Seen:
    """Everything one test saw."""

    def __init__(self, instrumentor: LangChainInstrumentor) -> None:
        self.instrumentor = instrumentor
        self.watch = Recording()
        self.provider = self.watch.provider
        self.emitter = self.watch.emitter

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return self.watch.exporter.get_finished_spans()

    def named(self, prefix: str) -> list[ReadableSpan]:
        return [span for span in self.spans if span.name.startswith(prefix)]

    @property
    def runs(self) -> list[str]:
        return list(dict.fromkeys(event.run_id for event in self.watch.of(RunStarted)))

    @property
    def outcomes(self) -> list[tuple[str, str]]:
        return [(e.outcome, e.reason) for e in self.watch.of(RunFinished) if not e.branch]

    def said(self, run_id: str | None = None) -> list[tuple[int, str, str | None]]:
        """Return row, sender and text (or the tools asked for) of each utterance."""
        return [
            (m.index, m.sender, m.text or ",".join(c.name for c in m.tool_calls))
            for m in self.watch.of(MessageSent)
            if run_id in (None, m.run_id)
        ]

    def carriers(self) -> dict[int, str]:
        """Return the name of the span that carries each utterance; two for one is an error."""
        found: dict[int, str] = {}
        for span in self.spans:
            index = (span.attributes or {}).get(semconv.MESSAGE_INDEX)
            if isinstance(index, int):
                assert index not in found, f"row {index} on {found[index]} and on {span.name}"
                found[index] = span.name
        return found

    def tree(self) -> list[str]:
        """Return the names of all spans, in order of their start, indented by depth."""
        ids = {span.context.span_id: span for span in self.spans if span.context}

        def depth(span: ReadableSpan) -> int:
            above = ids.get(span.parent.span_id) if span.parent else None
            return 0 if above is None else 1 + depth(above)

        ordered = sorted(self.spans, key=lambda span: span.start_time or 0)
        return ["  " * depth(span) + span.name for span in ordered]

    @property
    def open(self) -> int:
        """How many sessions and steps the handler still keeps."""
        handler = self.instrumentor._handler
        assert handler is not None
        return len(handler.store) + len(handler.store._steps)


class _Swallowed(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@pytest.fixture(name="seen")
def fixture_seen() -> Iterator[Seen]:
    """LangChain under watch; fails if LangChain swallowed an error of ours."""
    instrumentor = LangChainInstrumentor()
    seen = Seen(instrumentor)
    swallowed = _Swallowed()
    logger = logging.getLogger("langchain_core.callbacks.manager")
    logger.addHandler(swallowed)
    instrumentor.install(seen.emitter)
    try:
        yield seen
    finally:
        instrumentor.uninstall()
        logger.removeHandler(swallowed)
        guard.reset()
    assert [line for line in swallowed.lines if "MastwatchHandler" in line] == []
