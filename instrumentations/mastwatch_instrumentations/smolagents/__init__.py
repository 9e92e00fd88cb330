"""Smolagents: see ``SmolagentsInstrumentor``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mastwatch.instrumentor import DidNotEnable, Instrumentor

if TYPE_CHECKING:
    from mastwatch.spans.emit import Emitter


class SmolagentsInstrumentor(Instrumentor):
    """Watch smolagents."""

    name = "smolagents"
    library = "smolagents"
    distributions = ("smolagents",)
    minimum = {"smolagents": "1.20"}  # noqa: RUF012 - a ClassVar in the base

    def install(self, emitter: Emitter) -> None:
        """Not there yet."""
        raise DidNotEnable("not there yet")

    def uninstall(self) -> None:
        """Nothing to undo."""
