"""Installed twice it tells once; uninstalled it is inert, and what others did stays."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from typing import Any

from mastwatch.testing.instrumentors.subject import (
    Subject,
    difference,
    done,
    installed,
    told,
)
from mastwatch.testing.recording import Recording


def counts_once(subject: Subject) -> Iterator[str]:
    """The same instance, or another one of the class, installed again tells nothing twice."""
    once = told(subject.recorded())
    recording = Recording()
    with installed(subject.kind, recording) as first:
        first.install(recording.emitter)
        done(subject.exercise.run)
    if told(recording) != once:
        yield f"install() called twice tells {difference(told(recording), once)}"
    recording = Recording()
    with installed(subject.kind, recording), installed(subject.kind, recording):
        done(subject.exercise.run)
    if told(recording) != once:
        yield f"two instances installed at once tell {difference(told(recording), once)}"


def lets_go(subject: Subject) -> Iterator[str]:
    """After ``uninstall`` nothing is told and nothing wrapped; it can be installed again."""
    before = {pair: inspect.getattr_static(*pair) for pair in subject.patched()}
    once = told(subject.recorded())
    recording = Recording()
    with installed(subject.kind, recording) as instrumentor:
        hooks = instrumentor.hooks()
    if not hooks or not all(isinstance(value, bool) for value in hooks.values()):
        yield "hooks() does not name its hooks and whether each is in place"
    instrumentor.uninstall()  # a second time: harmless
    subject.kind().uninstall()  # never installed
    if done(subject.exercise.run).value != subject.plain.value:
        yield "run() gives another value after uninstall()"
    if recording.events:
        yield "it tells of a run after uninstall()"
    for (owner, name), original in before.items():
        if inspect.getattr_static(owner, name) is not original:
            yield f"{getattr(owner, '__name__', owner)}.{name} stays wrapped after uninstall()"
    with installed(subject.kind, recording, again=instrumentor):
        done(subject.exercise.run)
    if told(recording) != once:
        yield f"installed again it tells {difference(told(recording), once)}"


def leaves_wrappers_of_others(subject: Subject) -> Iterator[str]:
    """What others wrapped after us is called on; ours below it is inert and can be revived."""
    if not subject.patched():
        return
    once = told(subject.recorded())
    recording = Recording()
    with installed(subject.kind, recording):
        others = [_Other(owner, name) for owner, name in subject.patched()]
    try:
        done(subject.exercise.run)
        if recording.events:
            yield "with a wrapper of others on top it tells of a run after uninstall()"
        for other in others:
            if not other.in_place:
                yield f"uninstall() removes a wrapper that others put on {other.where}"
        if not any(other.calls for other in others):
            yield "after uninstall() no wrapper of others is called in run()"
        again = Recording()
        with installed(subject.kind, again):
            done(subject.exercise.run)
        if told(again) != once:
            more = difference(told(again), once)
            yield f"installed again below a wrapper of others it tells {more}"
    finally:
        for other in reversed(others):
            other.remove()
    done(subject.exercise.run)
    if recording.events:
        yield "it tells of a run after uninstall() when others have taken their wrappers away"


class _Other:
    """A wrapper as another instrumentation would put it on top."""

    def __init__(self, owner: Any, name: str) -> None:
        self.where = f"{getattr(owner, '__name__', owner)}.{name}"
        self.calls = 0
        self._owner, self._name = owner, name
        self._before = inspect.getattr_static(owner, name)
        self._own = name in vars(owner)
        bound = isinstance(self._before, (staticmethod, classmethod))
        self._wrapper = self._wrap(self._before if bound else getattr(owner, name))
        setattr(owner, name, self._wrapper)

    def _wrap(self, below: Any) -> Any:
        if isinstance(below, (staticmethod, classmethod)):
            return type(below)(self._wrap(below.__func__))

        @functools.wraps(below)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            return below(*args, **kwargs)

        return wrapper

    @property
    def in_place(self) -> bool:
        return inspect.getattr_static(self._owner, self._name) is self._wrapper

    def remove(self) -> None:
        if not self.in_place:
            return
        if self._own:
            setattr(self._owner, self._name, self._before)
        else:
            delattr(self._owner, self._name)
