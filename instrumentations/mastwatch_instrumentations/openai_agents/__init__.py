"""The OpenAI Agents SDK: see ``OpenAIAgentsInstrumentor``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mastwatch.instrumentor import DidNotEnable, Instrumentor

if TYPE_CHECKING:
    from mastwatch.spans.emit import Emitter


class OpenAIAgentsInstrumentor(Instrumentor):
    """Watch the OpenAI Agents SDK."""

    name = "openai_agents"
    library = "agents"
    distributions = ("openai-agents",)
    minimum = {"openai-agents": "0.20"}  # noqa: RUF012 - a ClassVar in the base

    def install(self, emitter: Emitter) -> None:
        """Not there yet."""
        raise DidNotEnable("not there yet")

    def uninstall(self) -> None:
        """Nothing to undo."""
