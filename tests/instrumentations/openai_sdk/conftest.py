"""Every test here runs the real SDK over a transport in memory; without it there is nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from mastwatch.testing.recording import Recording

collect_ignore_glob = [] if find_spec("openai") else ["*"]

_TESTS = str(Path(__file__).parents[2])
if _TESTS not in sys.path:
    sys.path.insert(0, _TESTS)  # for ``apps``


@pytest.fixture
def seen() -> Iterator[Recording]:
    """A recording with the SDK instrumented; everything is undone and checked at the end."""
    from mastwatch_instrumentations.openai_sdk import OpenAIInstrumentor

    recording, instrumentor = Recording(), OpenAIInstrumentor()
    instrumentor.install(recording.emitter)
    assert all(instrumentor.hooks().values())
    try:
        yield recording
    finally:
        instrumentor.uninstall()
    recording.check()
