"""AG2 1.x: see ``Ag2Instrumentor``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mastwatch.instrumentor import DidNotEnable, Instrumentor

if TYPE_CHECKING:
    from mastwatch.spans.emit import Emitter


class Ag2Instrumentor(Instrumentor):
    """Watch AG2 1.x."""

    name = "ag2"
    library = "ag2"
    distributions = ("ag2",)
    minimum = {"ag2": "1.2"}  # noqa: RUF012 - a ClassVar in the base

    def install(self, emitter: Emitter) -> None:
        """Not there yet."""
        raise DidNotEnable("not there yet")

    def uninstall(self) -> None:
        """Nothing to undo."""
