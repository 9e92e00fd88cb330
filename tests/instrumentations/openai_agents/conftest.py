"""The SDK, instrumented."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mastwatch.testing.recording import Recording
from mastwatch_instrumentations.openai_agents import OpenAIAgentsInstrumentor

collect_ignore_glob = [] if OpenAIAgentsInstrumentor.present() else ["*"]


@pytest.fixture(autouse=True)
def _no_upload(monkeypatch: pytest.MonkeyPatch) -> None:
    from agents import set_trace_processors

    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    set_trace_processors([])


@pytest.fixture
def recording() -> Iterator[Recording]:
    found = Recording()
    instrumentor = OpenAIAgentsInstrumentor()
    instrumentor.install(found.emitter)
    yield found
    instrumentor.uninstall()
