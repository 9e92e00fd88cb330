"""Smolagents, instrumented."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from mastwatch.testing.recording import Recording
from mastwatch_instrumentations.smolagents import SmolagentsInstrumentor

collect_ignore_glob = [] if find_spec("smolagents") else ["*"]


@pytest.fixture
def recording() -> Iterator[Recording]:
    found = Recording()
    instrumentor = SmolagentsInstrumentor()
    instrumentor.install(found.emitter)
    yield found
    instrumentor.uninstall()
