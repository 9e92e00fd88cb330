"""Every test here runs the real AgentChat with scripted models; without it nothing is to run."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from opentelemetry import trace

from mastwatch.testing import Recording

collect_ignore_glob = [] if find_spec("autogen_agentchat") else ["*"]

_TESTS = str(Path(__file__).parents[2])
if _TESTS not in sys.path:
    sys.path.insert(0, _TESTS)  # for ``apps``


@pytest.fixture(autouse=True)
def _quiet_runtime() -> Iterator[None]:
    """What a planted failure makes the runtime log is no news here."""
    logging.getLogger("autogen_core").setLevel(logging.CRITICAL)
    yield
    logging.getLogger("autogen_core").setLevel(logging.NOTSET)


@pytest.fixture
def seen() -> Iterator[Recording]:
    """A recording with AgentChat instrumented; AutoGen's own spans go nowhere."""
    from mastwatch_instrumentations.agentchat import AgentChatInstrumentor

    recording = Recording()
    instrumentor = AgentChatInstrumentor()
    instrumentor.install(recording.emitter)
    try:
        yield recording
    finally:
        instrumentor.uninstall()


@pytest.fixture
def traced(seen: Recording, monkeypatch: pytest.MonkeyPatch) -> Recording:
    """The same with a tracer provider in place, so that AutoGen records spans of its own."""
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", seen.provider)
    return seen
