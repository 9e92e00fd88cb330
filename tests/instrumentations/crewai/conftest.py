from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from mastwatch.testing.recording import Recording

collect_ignore_glob = [] if find_spec("crewai") else ["*"]

_TESTS = str(Path(__file__).parents[2])
for folder in (_TESTS, str(Path(__file__).parent)):
    if folder not in sys.path:
        sys.path.insert(0, folder)  # for ``apps`` and ``crews``

# CrewAI phones home; nothing of it in tests. Before the first import of it.
os.environ["CREWAI_DISABLE_TELEMETRY"] = "true"
os.environ["CREWAI_DISABLE_TRACKING"] = "true"
os.environ["CREWAI_TRACING_ENABLED"] = "false"
os.environ["CREWAI_DISABLE_VERSION_CHECK"] = "true"


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What crews store does not go into the home directory."""
    monkeypatch.setenv("CREWAI_STORAGE_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def recording() -> Iterator[Recording]:
    from mastwatch_instrumentations.crewai import CrewAIInstrumentor

    recording = Recording()
    instrumentor = CrewAIInstrumentor()
    instrumentor.install(recording.emitter)
    yield recording
    instrumentor.uninstall()
