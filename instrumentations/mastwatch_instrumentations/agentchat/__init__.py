"""AutoGen AgentChat: see ``AgentChatInstrumentor``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mastwatch.instrumentor import DidNotEnable, Instrumentor

if TYPE_CHECKING:
    from mastwatch.spans.emit import Emitter


class AgentChatInstrumentor(Instrumentor):
    """Watch AutoGen AgentChat."""

    name = "agentchat"
    library = "autogen_agentchat"
    distributions = ("autogen-agentchat",)
    minimum = {"autogen-agentchat": "0.7"}  # noqa: RUF012 - a ClassVar in the base

    def install(self, emitter: Emitter) -> None:
        """Not there yet."""
        raise DidNotEnable("not there yet")

    def uninstall(self) -> None:
        """Nothing to undo."""
