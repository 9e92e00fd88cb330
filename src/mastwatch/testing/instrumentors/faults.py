"""Errors of ours never reach the host; where it asks for silence there is silence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mastwatch import guard
from mastwatch.events import Event
from mastwatch.spans.emit import Emitter
from mastwatch.spans.scope import current_scope
from mastwatch.spans.suppress import untraced
from mastwatch.testing.instrumentors.subject import (
    PlantedError,
    Subject,
    chain,
    done,
    errors_swallowed,
    installed,
    raised,
)
from mastwatch.testing.recording import Recording


class _Broken(Recording):
    """A watch that fails at every event from the nth on, as it is observed or delivered."""

    def __init__(self, at: int = 0, deliver: bool = False) -> None:
        super().__init__()
        self._left, self._deliver = at, deliver

    def observe(self, event: Event) -> list[Any]:
        if not self._deliver:
            self._fail()
        return super().observe(event)

    def deliver(self, event: Event, verdicts: list[Any] | None) -> None:
        if self._deliver:
            self._fail()

    def _fail(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise ZeroDivisionError("the watch is broken")


class _BrokenEmitter(Emitter):
    """An emitter of which nothing works."""

    def _fail(self, *_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("the emitter is broken")

    current = model_call_here = suppressed = start_run = _fail


def _emitterless() -> Recording:
    recording = Recording()
    recording.emitter = _BrokenEmitter(recording, recording.provider.get_tracer("mastwatch"))
    return recording


def keeps_its_errors_to_itself(subject: Subject) -> Iterator[str]:
    """Whatever of ours breaks, and when: the host gets its value and its exceptions."""
    ways = {
        "the emitter": _emitterless(),
        "the watch": _Broken(),
        "the watch, from the fourth event on,": _Broken(at=3),
        "a sink": _Broken(deliver=True),
    }
    for what, recording in ways.items():
        counted = sum(guard.counts().values())
        with errors_swallowed(), installed(subject.kind, recording):
            error = raised(lambda: _check_value(subject))
            failed = _failing(subject)
        if error is not None:
            yield f"{what} raises, and run() {error}"
        if failed:
            yield f"{what} raises, and fail() raises {failed}"
        if sum(guard.counts().values()) == counted:
            yield f"{what} raises, and guard counts nothing: who swallowed it?"
        if current_scope.get() is not None:
            yield f"{what} raises, and a scope stays attached"


def _check_value(subject: Subject) -> None:
    try:
        value = subject.exercise.run()
    except Exception as error:
        raise AssertionError(f"raises {type(error).__name__}") from error
    if value != subject.plain.value:
        raise AssertionError("gives another value")


def _failing(subject: Subject) -> str:
    here = PlantedError()
    found = chain(raised(lambda: subject.exercise.fail(here)), here)
    return " from ".join(found) if "builtins.ZeroDivisionError" in found else ""


def is_silent_where_suppressed(subject: Subject) -> Iterator[str]:
    """Inside a block in which instrumentation is suppressed nothing is told."""
    recording = Recording()

    def run() -> object:
        with untraced():
            return subject.exercise.run()

    with installed(subject.kind, recording):
        value = done(run).value
    if recording.events:
        kind = type(recording.events[0]).__name__
        yield f"it tells a {kind} where instrumentation is suppressed: ask emitter.suppressed()"
    if value != subject.plain.value:
        yield "run() gives another value where instrumentation is suppressed"
