"""The host notices nothing: same value, same output, same functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from mastwatch.testing.instrumentors.subject import Subject, done, installed
from mastwatch.testing.recording import Recording

_KINDS: tuple[tuple[str, Callable[[object], bool]], ...] = (
    ("coroutine function", inspect.iscoroutinefunction),
    ("generator function", inspect.isgeneratorfunction),
    ("asynchronous generator function", inspect.isasyncgenfunction),
)
_NAMES = ("__name__", "__qualname__", "__module__", "__doc__")


def gives_the_same(subject: Subject) -> Iterator[str]:
    """A run gives and prints what it does without."""
    with installed(subject.kind, Recording()):
        here = done(subject.exercise.run)
    if here.value != subject.plain.value:
        yield "run() gives another value when it is installed"
    if type(here.value) is not type(subject.plain.value):
        yield f"run() gives a {type(here.value).__name__} when it is installed"
    if subject.plain.printed is not None and here.printed != subject.plain.printed:
        yield "run() prints something else when it is installed"


def keeps_what_it_wraps(subject: Subject) -> Iterator[str]:
    """A wrapped function looks as it did: signature, name, kind; it leads to the original."""
    before = {pair: inspect.getattr_static(*pair) for pair in subject.patched()}
    with installed(subject.kind, Recording()):
        for (owner, name), original in before.items():
            where = f"{getattr(owner, '__name__', owner)}.{name}"
            wrapper = inspect.getattr_static(owner, name)
            if wrapper is original:
                yield f"{where} is not wrapped, though the exercise's patched() says so"
                continue
            yield from (f"{where} {loss}" for loss in _lost(_bare(original), _bare(wrapper)))


def _bare(function: Any) -> Any:
    return getattr(function, "__func__", function)  # of a staticmethod or classmethod


def _lost(original: Any, wrapper: Any) -> Iterator[str]:
    if inspect.signature(wrapper) != inspect.signature(original):
        yield "has another signature when it is wrapped"
    for attribute in _NAMES:
        if getattr(wrapper, attribute, None) != getattr(original, attribute, None):
            yield f"loses its {attribute}"
    for what, is_one in _KINDS:
        if is_one(wrapper) != is_one(original):
            yield f"{'is no longer' if is_one(original) else 'becomes'} a {what}"
    below = wrapper
    while below is not original and (under := getattr(below, "__wrapped__", None)) is not None:
        below = under
    if below is not original:
        yield "does not lead to the original by __wrapped__"
