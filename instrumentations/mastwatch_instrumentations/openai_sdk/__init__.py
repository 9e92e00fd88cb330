"""The OpenAI SDK: see ``OpenAIInstrumentor``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mastwatch.instrumentor import DidNotEnable, Instrumentor

if TYPE_CHECKING:
    from mastwatch.spans.emit import Emitter


class OpenAIInstrumentor(Instrumentor):
    """Watch the OpenAI SDK."""

    name = "openai"
    library = "openai"
    distributions = ("openai",)
    minimum = {"openai": "2.20"}  # noqa: RUF012 - a ClassVar in the base

    def install(self, emitter: Emitter) -> None:
        """Not there yet."""
        raise DidNotEnable("not there yet")

    def uninstall(self) -> None:
        """Nothing to undo."""
