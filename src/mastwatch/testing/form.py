"""What can be told of a detector without running it: its class, parameters and page."""

from __future__ import annotations

import doctest
import inspect
import re
import sys
from collections.abc import Iterator

from mastwatch import taxonomy
from mastwatch.detector import Detector
from mastwatch.events import Event
from mastwatch.findings import Severity

_SNAKE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_SECTION = re.compile(r"^(\w+):$")
_DOCUMENTED = re.compile(r"^ {4}(\w+(?:, \w+)*)(?: \([^)]*\))?: \S")


def is_well_formed(make: type[Detector]) -> Iterator[str]:
    """Class attributes, parameters and docstring."""
    if not (isinstance(make, type) and issubclass(make, Detector)):
        yield f"{make!r} is no subclass of mastwatch.Detector"
        return
    yield from _attributes(make)
    yield from _parameters(make)
    yield from _page(make)
    try:
        make()
    except Exception as error:
        yield f"{make.__name__}() must work without arguments: {type(error).__name__}: {error}"


def works(make: type[Detector]) -> bool:
    """Whether it can be put to work at all."""
    try:
        detector = make()
    except Exception:
        return False
    return (
        isinstance(detector, Detector)
        and isinstance(make.ceiling, Severity)
        and _are_events(make.observes)
    )


def _attributes(make: type[Detector]) -> Iterator[str]:
    mode = getattr(make, "mode", None)
    if mode not in {known.code for known in taxonomy.MODES}:
        yield f"mode is {mode!r}, no code of the MAST taxonomy such as 'FM-1.3'"
    name = getattr(make, "name", None)
    if not (isinstance(name, str) and _SNAKE.fullmatch(name)):
        yield f"name is {name!r}, not snake case"
    if not isinstance(make.ceiling, Severity):
        yield f"ceiling is {make.ceiling!r}, no Severity"
    if not _are_events(make.observes):
        yield f"observes is {make.observes!r}, no tuple of event types"


def _are_events(observed: object) -> bool:
    return isinstance(observed, tuple) and all(
        isinstance(kind, type) and issubclass(kind, Event) for kind in observed
    )


def _parameters(make: type[Detector]) -> Iterator[str]:
    documented = _documented(make)
    for parameter in inspect.signature(make).parameters.values():
        name = parameter.name
        if parameter.kind is not parameter.KEYWORD_ONLY:
            yield f"parameter {name} is not keyword-only"
        if parameter.default is parameter.empty:
            yield f"parameter {name} has no default"
        elif not _immutable(parameter.default):
            yield f"parameter {name} has a default that can change: {parameter.default!r}"
        if name not in documented:
            yield f"parameter {name} is not explained in the docstring's Args section"


def _immutable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _documented(make: type[Detector]) -> set[str]:
    names: set[str] = set()
    section = ""
    for line in inspect.cleandoc(make.__doc__ or "").splitlines():
        if heading := _SECTION.match(line):
            section = heading[1]
        elif section == "Args" and (entry := _DOCUMENTED.match(line)):
            names.update(entry[1].split(", "))
    return names


def _page(make: type[Detector]) -> Iterator[str]:
    if not make.__doc__:
        yield "it has no docstring: that is its page"
        return
    page = inspect.cleandoc(make.__doc__)
    if not re.search(r"^Source: *(\S|\n +\S)", page, re.MULTILINE):
        yield "its docstring names no source (a section 'Source:')"
    names = vars(sys.modules[make.__module__]) if make.__module__ in sys.modules else {}
    globs = {make.__name__: make, **names}
    example = doctest.DocTestParser().get_doctest(page, globs, make.__name__, None, None)
    if not example.examples:
        yield "its docstring has no example (doctest)"
        return
    told: list[str] = []
    runner = doctest.DocTestRunner(verbose=False)
    if runner.run(example, out=told.append).failed:
        lines = "".join(told).partition("Failed example:")[2].split("\n")
        failure = " / ".join(line.strip() for line in lines if line.strip())
        yield f"the example in its docstring fails: {failure}"
