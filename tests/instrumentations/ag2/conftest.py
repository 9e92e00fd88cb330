"""Every test here runs the real AG2 1.x with scripted models."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from mastwatch.testing.recording import Recording

collect_ignore_glob = [] if find_spec("ag2") else ["*"]

_TESTS = str(Path(__file__).parents[2])
if _TESTS not in sys.path:
    sys.path.insert(0, _TESTS)  # for ``apps``


@pytest.fixture
def recording() -> Iterator[Recording]:
    """What the instrumentor tells, which is in place."""
    from mastwatch_instrumentations.ag2 import Ag2Instrumentor

    instrumentor = Ag2Instrumentor()
    recording = Recording()
    instrumentor.install(recording.emitter)
    yield recording
    instrumentor.uninstall()
