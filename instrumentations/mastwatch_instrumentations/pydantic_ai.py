"""Pydantic AI: it traces itself once it is told to; its spans are read.

Where the host has chosen settings of its own, those stay, and the spans they give are read.
Otherwise its tracing is switched on for all agents, those made before included: content goes to
the detectors, and onto the exported spans only with content capture on.
"""

from __future__ import annotations

from typing import Any, ClassVar

from mastwatch.instrumentor import DidNotEnable, Instrumentor
from mastwatch.spans.emit import Emitter


class PydanticAIInstrumentor(Instrumentor):
    """Switches on Pydantic AI's own tracing."""

    name = library = "pydantic_ai"
    distributions = ("pydantic-ai-slim", "pydantic-ai")
    listens = True
    minimum: ClassVar[dict[str, str]] = {"pydantic-ai-slim": "2.0", "pydantic-ai": "2.0"}

    def __init__(self) -> None:
        self._agent: Any = None
        self._settings: Any = None

    def install(self, emitter: Emitter) -> None:
        """Choose settings, unless the host has."""
        from pydantic_ai import Agent, InstrumentationSettings

        if not hasattr(Agent, "_instrument_default"):
            raise DidNotEnable("pydantic_ai.Agent has no default instrumentation")
        if emitter.bridge is None:
            raise DidNotEnable("its spans are read by the bridge, which is switched off")
        self._agent = Agent
        if Agent._instrument_default is not False:
            return  # the host's choice
        if emitter.content.capture:
            self._settings = InstrumentationSettings()
        else:
            withheld = emitter.bridge.withheld()
            self._settings = InstrumentationSettings(
                tracer_provider=withheld,
                meter_provider=withheld.meters,
            )
        Agent.instrument_all(self._settings)

    def uninstall(self) -> None:
        """Take back our choice, if it is still in force."""
        if self._settings is not None and self._agent._instrument_default is self._settings:
            self._agent.instrument_all(False)
        self._settings = None

    def hooks(self) -> dict[str, bool]:
        """Whether agents without settings of their own are traced."""
        on = self._agent is not None and self._agent._instrument_default is not False
        return {"instrument_all": on}
