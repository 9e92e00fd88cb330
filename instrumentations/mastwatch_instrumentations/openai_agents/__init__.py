"""The OpenAI Agents SDK (``import agents``).

What is seen: every run of ``Runner.run``, ``run_sync`` and ``run_streamed``, whatever its tracing
settings and also with agents made before. Within a run: turns, messages, model calls, tool calls
(those of the provider too, once the model's answer is here), hand-offs, pauses for approval and the
outcome. A turn is what one agent does until it hands off or the run ends. An agent that runs as a
tool, or is run by a guardrail or a tool's own code, is a branch of the run around it.

What is not seen: realtime and voice agents; models asked outside any run.

What is no utterance: the user's input, which is the run's task; the output of a tool that ends the
run; an answer that holds reasoning only. A hand-off is a tool call, as the model makes it.

How a run ends: ``MaxTurnsExceeded`` is its limit, also where an error handler answers in its place
(how near a run is to it is looked at only where the app set another than the SDK's own); a
guardrail that trips means that the app has called it off (``cancelled``). Interruptions pause it,
and running its ``RunState`` resumes it: it is known by its task and its session, conversation or
group id, and without one as long as no other nameless run is paused. A stream goes on when nobody
reads it: it is abandoned when the event loop is closed on it.

The SDK's tracing is neither used nor touched. Where the instrumentors of OpenTelemetry,
OpenInference or OpenLLMetry are on, Events flow but the spans stay theirs.

Where the host lets mastwatch act (``actions=``): a halted run raises ``RunHalted`` before the next
model is asked, and so does the stream of one; a nudge is added to what the next model is sent and
stands in no history.

Versions: openai-agents 0.20 to 0.24. Nothing to configure.
"""

from __future__ import annotations

import sys
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from mastwatch.instrumentor import DidNotEnable
from mastwatch_instrumentations._base import PatchingInstrumentor
from mastwatch_instrumentations._patch import Patches

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mastwatch.spans.emit import Emitter

__all__ = ["OpenAIAgentsInstrumentor"]

_OF_THE_SDK_ONLY = "models/openai_responses.py"


class OpenAIAgentsInstrumentor(PatchingInstrumentor):
    """Watches the OpenAI Agents SDK by patching its runner and its models, and by its run hooks."""

    name: ClassVar[str] = "openai_agents"
    library: ClassVar[str] = "agents"
    distributions: ClassVar[tuple[str, ...]] = ("openai-agents",)
    minimum: ClassVar[dict[str, str]] = {"openai-agents": "0.20"}
    supersedes: ClassVar[tuple[str, ...]] = ("openai",)
    producers: ClassVar[tuple[str, ...]] = (
        "opentelemetry.instrumentation.genai.openai_agents:OpenAIAgentsInstrumentor",
        "openinference.instrumentation.openai_agents:OpenAIAgentsInstrumentor",
        "opentelemetry.instrumentation.openai_agents:OpenAIAgentsInstrumentor",
    )
    scopes: ClassVar[tuple[str, ...]] = (
        "opentelemetry.instrumentation.genai.openai_agents",
        "openinference.instrumentation.openai_agents",
        "opentelemetry.instrumentation.openai_agents",
        "openlit.instrumentation.openai_agents",
    )

    @classmethod
    def present(cls) -> bool:
        """Whether ``import agents`` gives the SDK: many an app has a package of that name."""
        try:
            spec = util.find_spec(cls.library)
        except (ImportError, ValueError):
            return False
        folders = (spec.submodule_search_locations or ()) if spec is not None else ()
        return any(Path(folder, _OF_THE_SDK_ONLY).is_file() for folder in folders)

    def patch(self, emitter: Emitter, patches: Patches) -> Mapping[str, bool]:
        """Patch the runner and the models.

        Raises:
            DidNotEnable: This is another package, or lacks what the hooks cannot do without.
        """
        runner = getattr(sys.modules.get("agents"), "Runner", None)
        if getattr(runner, "__module__", "") != "agents.run" or not self.present():
            raise DidNotEnable("the package 'agents' imported here is not the OpenAI Agents SDK")

        from mastwatch_instrumentations.openai_agents.hooking import Hooks

        return Hooks(emitter, patches, self.traced_by).install()
