"""Finds detectors and instrumentors by their entry points; one broken plug-in stops no other."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from mastwatch.detector import Detector
from mastwatch.instrumentor import Instrumentor

_log = logging.getLogger("mastwatch")
DETECTORS = "mastwatch.detectors"
INSTRUMENTATIONS = "mastwatch.instrumentations"
_WHAT = {DETECTORS: "detector", INSTRUMENTATIONS: "framework"}
_BASES: dict[str, type] = {DETECTORS: Detector, INSTRUMENTATIONS: Instrumentor}


@dataclass(frozen=True, slots=True)
class Plugin:
    """One entry point and what became of it.

    Attributes:
        group: ``mastwatch.detectors`` or ``mastwatch.instrumentations``.
        name: The entry point's name.
        distribution: The package that brings it.
        version: That package's version.
        target: ``module:Class``.
        loaded: The class, or None.
        problem: Why it could not be loaded; empty when it was.
    """

    group: str
    name: str
    distribution: str
    version: str
    target: str
    loaded: type[Any] | None
    problem: str = ""


def plugins(group: str | None = None) -> list[Plugin]:
    """All entry points of our groups, loaded as far as they load, sorted by name."""
    groups = [group] if group else list(_BASES)
    return [
        _load(point) for g in groups for point in sorted(metadata.entry_points(group=g), key=_name)
    ]


def select(group: str, names: tuple[str, ...] | None) -> list[type[Any]]:
    """The classes of a group that are wanted; what cannot be had is said in the log.

    Args:
        group: ``mastwatch.detectors`` or ``mastwatch.instrumentations``.
        names: By entry point; None for all.
    """
    what = _WHAT[group]
    found = plugins(group)
    classes = []
    for plugin in found:
        if names is not None and plugin.name not in names:
            continue
        if plugin.loaded is None:
            _log.warning("mastwatch: %s %s: %s", what, plugin.name, plugin.problem)
        else:
            classes.append(plugin.loaded)
    known = [plugin.name for plugin in found]
    for name in names or ():
        if name not in known:
            _log.warning(
                "mastwatch: there is no %s %r; known: %s", what, name, ", ".join(known) or "none"
            )
    return classes


def detectors() -> list[type[Detector]]:
    """The detector classes that could be loaded."""
    return [p.loaded for p in plugins(DETECTORS) if p.loaded is not None]


def _name(point: metadata.EntryPoint) -> str:
    return point.name


def _load(point: metadata.EntryPoint) -> Plugin:
    loaded: type[Any] | None = None
    problem = ""
    try:
        candidate = point.load()
        base = _BASES[point.group]
        if isinstance(candidate, type) and issubclass(candidate, base):
            loaded = candidate
        else:
            problem = f"{point.value} is no subclass of mastwatch.{base.__name__}"
    except Exception as error:  # a stranger's module may raise anything at import
        problem = f"{point.value} cannot be loaded: {type(error).__name__}: {error}"
    dist = point.dist
    return Plugin(
        group=point.group,
        name=point.name,
        distribution=dist.name if dist else "",
        version=dist.version if dist else "",
        target=point.value,
        loaded=loaded,
        problem=problem,
    )
