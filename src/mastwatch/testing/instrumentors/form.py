"""What can be told of an instrumentor and of an exercise without running them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from mastwatch import registry
from mastwatch.instrumentor import Instrumentor
from mastwatch.testing.instrumentors.exercise import Exercise
from mastwatch.testing.speech import QUOTE

_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_VERSION = re.compile(r"\d+(\.\d+)*")
_PRODUCER = re.compile(r"[\w.]+:\w+")


def is_well_formed(kind: type[Instrumentor]) -> Iterator[str]:
    """Class attributes and the entry point."""
    if not (isinstance(kind, type) and issubclass(kind, Instrumentor)):
        yield f"{kind!r} is no subclass of mastwatch.Instrumentor"
        return
    name = getattr(kind, "name", None)
    if not (isinstance(name, str) and _NAME.fullmatch(name)):
        yield f"name is {name!r}, not snake case"
    library = getattr(kind, "library", None)
    if not (isinstance(library, str) and library.isidentifier()):
        yield f"library is {library!r}, no top-level import name"
    if not kind.__doc__:
        yield "it has no docstring: what is traced, what is not, which versions"
    yield from _versions(kind)
    for attribute in ("frameworks", "supersedes", "scopes", "producers"):
        if not _are_texts(getattr(kind, attribute)):
            yield f"{attribute} is {getattr(kind, attribute)!r}, no tuple of texts"
    for producer in kind.producers:
        if not _PRODUCER.fullmatch(producer):
            yield f"the producer {producer!r} is not written package.module:Class"
    yield from _entry_point(kind)


def _versions(kind: type[Instrumentor]) -> Iterator[str]:
    if not kind.distributions or not _are_texts(kind.distributions):
        yield f"distributions is {kind.distributions!r}, no tuple of names on the package index"
        return
    for distribution in kind.distributions:
        if not _VERSION.fullmatch(kind.minimum.get(distribution, "")):
            yield f"minimum names no oldest version of {distribution}"
    if unknown := set(kind.minimum) - set(kind.distributions):
        yield f"minimum names {', '.join(sorted(unknown))}, no distribution of the library"


def _entry_point(kind: type[Instrumentor]) -> Iterator[str]:
    found = [p for p in registry.plugins(registry.INSTRUMENTATIONS) if p.loaded is kind]
    name = getattr(kind, "name", "")
    if not found:
        target = f'{name} = "{kind.__module__}:{kind.__qualname__}"'
        yield (
            f"no installed package names it; in pyproject.toml, below "
            f'[project.entry-points."{registry.INSTRUMENTATIONS}"], write: {target}'
        )
    elif name not in [plugin.name for plugin in found]:
        yield f"its entry point is called {found[0].name}, its name is {name}"


def _are_texts(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(text, str) and text for text in value)


def is_an_exercise(exercise: Exercise) -> Iterator[str]:
    """Whether an exercise is there to be run."""
    for part in ("run", "fail"):
        if not callable(getattr(exercise, part, None)):
            yield f"the exercise has no {part}()"
    texts = getattr(exercise, "texts", ())
    if not texts or not _are_texts(texts):
        yield "the exercise has no tuple of texts that its run() says"
    for text in texts:
        if len(text) < QUOTE:
            yield f"the exercise's text {text!r} is shorter than {QUOTE} characters"
