"""LlamaIndex agents: see ``LlamaIndexInstrumentor``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mastwatch.instrumentor import DidNotEnable, Instrumentor

if TYPE_CHECKING:
    from mastwatch.spans.emit import Emitter


class LlamaIndexInstrumentor(Instrumentor):
    """Watch LlamaIndex agents."""

    name = "llama_index"
    library = "llama_index"
    distributions = ("llama-index-core",)
    minimum = {"llama-index-core": "0.14"}  # noqa: RUF012 - a ClassVar in the base

    def install(self, emitter: Emitter) -> None:
        """Not there yet."""
        raise DidNotEnable("not there yet")

    def uninstall(self) -> None:
        """Nothing to undo."""
