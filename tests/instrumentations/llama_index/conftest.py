from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from mastwatch.testing.recording import Recording

collect_ignore_glob = [] if find_spec("llama_index") else ["*"]

_TESTS = str(Path(__file__).parents[2])
if _TESTS not in sys.path:
    sys.path.insert(0, _TESTS)  # for ``apps``


@pytest.fixture
def recording() -> Iterator[Recording]:
    import llama_index.core.agent.workflow  # noqa: F401 - as the app would have done

    from mastwatch_instrumentations.llama_index import LlamaIndexInstrumentor

    recording = Recording()
    instrumentor = LlamaIndexInstrumentor()
    instrumentor.install(recording.emitter)
    yield recording
    instrumentor.uninstall()
