"""Hugging Face's smolagents.

What is seen: every run of every agent (``agent.run``, streamed or not), also of those made before.
One run is one turn of its agent; within it are messages, model calls, tool calls and the outcome.
A managed agent is a tool of its manager, and what it does a branch of the run around it.

A code agent's code is what it says. Running it is a call of ``python_interpreter``, as smolagents
has it, and the tools and agents that the code calls are tool calls inside. Code that runs in a
sandbox elsewhere calls its tools there: these are not seen.

``final_answer`` is no tool but the end: what it is given is the agent's reply. Where code calls it,
the reply is a message of its own after the code's.

What is no utterance: the task; plans (``planning_interval``), which only the agent itself reads;
what comes back from tools.

How a run ends: an answer that had to be given for want of steps is the run's limit
(how near a run is to it is looked at only where it is another than smolagents' own);
``agent.interrupt()`` cancels it; a stream that is closed early is abandoned.

Where OpenInference or OpenTelemetry has instrumented smolagents, Events flow but the spans stay
theirs. Where the host lets mastwatch act (``actions=``): a halted agent is interrupted after the
step it is in; a nudge is added to what the next model is sent and stands in no memory.

Versions: smolagents 1.20 to 1.26. Nothing to configure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from mastwatch_instrumentations._base import PatchingInstrumentor
from mastwatch_instrumentations._patch import Patches

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mastwatch.spans.emit import Emitter

__all__ = ["SmolagentsInstrumentor"]


class SmolagentsInstrumentor(PatchingInstrumentor):
    """Watches smolagents by patching its agents, models, tools and code executors."""

    name: ClassVar[str] = "smolagents"
    library: ClassVar[str] = "smolagents"
    distributions: ClassVar[tuple[str, ...]] = ("smolagents",)
    minimum: ClassVar[dict[str, str]] = {"smolagents": "1.20"}
    supersedes: ClassVar[tuple[str, ...]] = ("openai",)
    producers: ClassVar[tuple[str, ...]] = (
        "opentelemetry.instrumentation.genai.smolagents:SmolagentsInstrumentor",
        "openinference.instrumentation.smolagents:SmolagentsInstrumentor",
    )
    scopes: ClassVar[tuple[str, ...]] = (
        "opentelemetry.instrumentation.genai.smolagents",
        "openinference.instrumentation.smolagents",
        "openlit.instrumentation.smolagents",
    )

    def patch(self, emitter: Emitter, patches: Patches) -> Mapping[str, bool]:
        """Patch the classes.

        Raises:
            DidNotEnable: This version lacks what the hooks cannot do without.
        """
        from mastwatch_instrumentations.smolagents.hooking import Hooks

        return Hooks(emitter, patches, self.traced_by).install()
