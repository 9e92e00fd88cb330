"""Agents can be copied as before, and nothing that a run made is kept."""

from __future__ import annotations

import copy
import gc
import pickle
import time
from collections.abc import Callable, Iterator

from mastwatch.testing.instrumentors.subject import Subject, done, installed
from mastwatch.testing.recording import Recording

_WAYS: dict[str, Callable[[object], object]] = {
    "copy.copy": copy.copy,
    "copy.deepcopy": copy.deepcopy,
    "pickle.dumps": pickle.dumps,
}
_PATIENCE = 1.0


def lets_agents_be_copied(subject: Subject) -> Iterator[str]:
    """What could be copied or pickled still can, made before or after ``install``."""
    if not subject.offers("agents"):
        return
    expected = _copied(subject.exercise.agents())
    earlier = subject.exercise.agents()
    with installed(subject.kind, Recording()):
        found = {"before": _copied(earlier), "after": _copied(subject.exercise.agents())}
    for when, worked in found.items():
        for way in sorted({way for way, _ in expected - worked}):
            yield f"agents made {when} install() fail in {way}"


def _copied(agents: list[object]) -> set[tuple[str, int]]:
    """Which agent can be copied in which way."""
    worked = set()
    for way, make in _WAYS.items():
        for position, agent in enumerate(agents):
            try:
                make(agent)
            except Exception:
                continue
            worked.add((way, position))
    return worked


def keeps_nothing(subject: Subject) -> Iterator[str]:
    """What a run made is gone after it, where it is without us."""
    if not subject.offers("made"):
        return
    expected = _alive(subject)
    recording = Recording()
    with installed(subject.kind, recording):
        found = _alive(subject)
        recording.events.clear()
    if found > expected:
        yield f"{found - expected} objects of the library are kept after a run"


def _alive(subject: Subject) -> int:
    done(subject.exercise.run)
    references = list(subject.exercise.made())
    deadline = time.monotonic() + _PATIENCE
    while True:
        gc.collect()
        alive = sum(reference() is not None for reference in references)
        if not alive or time.monotonic() > deadline:
            return alive
        time.sleep(0.02)
