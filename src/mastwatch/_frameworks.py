"""Enabling the instrumentors: at once where a library is imported, else when it is."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from mastwatch._imports import ImportHook
from mastwatch.guard import guard
from mastwatch.instrumentor import DidNotEnable

if TYPE_CHECKING:
    from mastwatch.instrumentor import Instrumentor
    from mastwatch.spans.emit import Emitter

_log = logging.getLogger("mastwatch")


class Frameworks:
    """The instrumentors in place, and those that wait for their library.

    Args:
        emitter: Given to each.
        by_name: Whether the host named them: what cannot be enabled is a warning then.
        enabled: Told of each that is in place.
    """

    def __init__(
        self, emitter: Emitter, by_name: bool, enabled: Callable[[Instrumentor], None]
    ) -> None:
        self._emitter = emitter
        self._level = logging.WARNING if by_name else logging.DEBUG
        self._enabled = enabled
        self._instrumentors: list[Instrumentor] = []
        self._hook = ImportHook()

    def arrange(self, kind: type[Instrumentor]) -> None:
        """Enable an instrumentor as soon as its library is imported."""
        if not kind.present():
            _log.log(self._level, "mastwatch: %s is not installed here", kind.library)
            return
        if problem := kind.too_old():
            _log.warning("mastwatch: %s; it is not watched", problem)
            return
        self._hook.when_imported(kind.trigger or kind.library, lambda: self._guarded_enable(kind))

    def _guarded_enable(self, kind: type[Instrumentor]) -> None:
        with guard(f"install.{kind.name}"):
            self._enable(kind)

    def _enable(self, kind: type[Instrumentor]) -> None:
        instrumentor = kind()
        try:
            instrumentor.install(self._emitter)
        except DidNotEnable as error:
            _log.log(self._level, "mastwatch: %s is not instrumented: %s", kind.name, error)
            return
        except Exception:
            instrumentor.uninstall()  # what it had attached before it failed
            raise
        self._instrumentors.append(instrumentor)
        self._enabled(instrumentor)

    def undo(self) -> None:
        """Take them all out, the last one first."""
        with guard("uninstrument"):
            self._hook.remove()
        for instrumentor in reversed(self._instrumentors):
            with guard(f"uninstrument.{instrumentor.name}"):
                instrumentor.uninstall()
