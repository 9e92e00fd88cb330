"""Every test here runs the real AG2 with scripted models; without AG2 there is nothing to run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from mastwatch.events import (
    Event,
    MessageSent,
    RunFinished,
    RunStarted,
    ToolCalled,
    ToolReturned,
)
from mastwatch.testing import Recording

collect_ignore_glob = [] if find_spec("autogen") else ["*"]

_TESTS = str(Path(__file__).parents[2])
if _TESTS not in sys.path:
    sys.path.insert(0, _TESTS)  # for ``apps``

INDEX = "mastwatch.message.index"


class Recorder(Recording):
    """A recording in the words of these tests, which can be broken."""

    broken = False

    def observe(self, event: Event) -> list[Any]:
        if self.broken:
            raise ZeroDivisionError
        return super().observe(event)

    @property
    def messages(self) -> list[MessageSent]:
        return self.of(MessageSent)

    @property
    def started(self) -> list[RunStarted]:
        return self.of(RunStarted)

    @property
    def finished(self) -> list[RunFinished]:
        return self.of(RunFinished)

    @property
    def tools(self) -> list[Any]:
        return [(e.agent, e.name, e.call_id) for e in self.of(ToolCalled)]

    @property
    def results(self) -> list[Any]:
        return self.of(ToolReturned)

    def names(self) -> list[str]:
        return [span.name for span in self.spans]

    def check(self, *, hushed: int = 0) -> None:
        """What holds for every app, and what AG2 always tells: to whom something was said."""
        super().check(hushed=hushed)
        about = [dict(span.attributes or {}) for span in self.spans]
        by_row = {(a["mastwatch.run.id"], a[INDEX]): a for a in about if INDEX in a}
        for message in self.messages:
            said = by_row[message.run_id, message.index]
            assert said.get("mastwatch.message.recipient", ()) == message.recipients
        roots = {span.name.split()[0] for span in self.spans if span.parent is None}
        assert roots <= {"invoke_workflow"}


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
