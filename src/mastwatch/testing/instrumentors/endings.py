"""Exceptions: the same come out, and the run ends as it did."""

from __future__ import annotations

from collections.abc import Iterator

from mastwatch.testing.instrumentors.subject import (
    FAILURE,
    PlantedError,
    Subject,
    chain,
    in_loop,
    installed,
    outcomes,
    raised,
    still_open,
)
from mastwatch.testing.recording import Recording
from mastwatch.testing.speech import strings

_CANCELLED = {False: {"cancelled"}, True: {"cancelled", "unknown"}}
"""How a cancelled run ends, where that is told by us and by spans: OpenTelemetry has no word."""


def lets_errors_through(subject: Subject) -> Iterator[str]:
    """``fail(error)`` raises the same, with the same behind it."""
    exercise = subject.exercise
    without, within = PlantedError(), PlantedError()
    expected = chain(raised(lambda: exercise.fail(without)), without)
    recording = Recording()
    with installed(subject.kind, recording):
        found = chain(raised(lambda: exercise.fail(within)), within)
    if found != expected:
        yield f"fail() raises {_told(found)} when it is installed, else {_told(expected)}"
    if count := still_open(recording):
        yield f"{count} runs never end when a run fails"
    if expected and "error" not in outcomes(recording):
        yield f"a run that fails ends as {', '.join(outcomes(recording)) or 'nothing'}, not error"
    for span in recording.spans:
        about = [span.attributes, span.status.description, [e.attributes for e in span.events]]
        if any(FAILURE in text for text in strings(about)):
            yield f"the span {span.name!r} quotes the message of an exception"
            return


def lets_cancelling_through(subject: Subject) -> Iterator[str]:
    """CancelledError comes out, and the run is told to be cancelled."""
    if not subject.offers("cancel"):
        return
    cancel = subject.exercise.cancel
    expected = raised(lambda: in_loop(cancel()))
    recording = Recording()
    with installed(subject.kind, recording):
        found = raised(lambda: in_loop(cancel()))
    if type(found) is not type(expected):
        yield f"cancel() raises {type(found).__name__} when it is installed"
    if count := still_open(recording):
        yield f"{count} runs never end when a run is cancelled"
    elif not _CANCELLED[subject.kind.listens].intersection(outcomes(recording)):
        yield f"a cancelled run ends as {', '.join(outcomes(recording)) or 'nothing'}"


def _told(chain: list[str]) -> str:
    return " from ".join(chain) or "nothing"
