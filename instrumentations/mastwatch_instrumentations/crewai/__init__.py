"""CrewAI: see ``CrewAIInstrumentor``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mastwatch.instrumentor import DidNotEnable
from mastwatch_instrumentations._base import PatchingInstrumentor
from mastwatch_instrumentations._patch import Patches

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mastwatch.spans.emit import Emitter


class CrewAIInstrumentor(PatchingInstrumentor):
    """Watch CrewAI (1.15 and later) by patching its classes, so agents made earlier are seen too.

    Traced: a crew's kickoff is a run (sync, async, for each, streamed, replayed), as is a flow's,
    in which each crew is a branch; an agent that is kicked off by itself is a small run. Within:
    a turn per attempt of an agent at a task, what its model says in it, model calls, tool calls,
    delegation (a hand-off, and a branch for the coworker), feedback by a person, a flow that waits
    for one.

    A call that equals the last one is refused by CrewAI, without an event and without the tool.
    It is a tool call all the same, one that failed (``repeated_usage``) with CrewAI's answer.

    No utterance: what a model is asked by memory, knowledge, planning, converters and summaries;
    these are model calls only. A guardrail that asks an agent is a branch, a task that runs beside
    others (``async_execution``) too.

    Not traced: models that are called outside of any crew, flow or agent; tokens, where no
    instrumentor of the library below tells them; agents of other frameworks behind an adapter;
    training and testing.

    CrewAI's own events are not used: their handlers run on a thread pool, late and in any order,
    and a model of the app's own sends none. Its own tracing is left alone.

    Where the host lets mastwatch act (``actions=``): in a run that is to end no model is asked any
    more; ``RunHalted`` comes out of ``kickoff``. A nudge is added to what the next model is sent.
    """

    name = "crewai"
    library = "crewai"
    distributions = ("crewai",)
    minimum = {"crewai": "1.15"}  # noqa: RUF012 - a ClassVar in the base
    supersedes = ("openai",)
    producers = (
        "openinference.instrumentation.crewai:CrewAIInstrumentor",
        "opentelemetry.instrumentation.crewai:CrewAIInstrumentor",
    )
    scopes = (
        "openinference.instrumentation.crewai",
        "openinference.instrumentation.crewai._event_listener",
        "opentelemetry.instrumentation.crewai",
        "opentelemetry.instrumentation.crewai.instrumentation",
        "openlit.instrumentation.crewai",
    )

    def patch(self, emitter: Emitter, patches: Patches) -> Mapping[str, bool]:
        """Patch the classes.

        Raises:
            DidNotEnable: This CrewAI lacks what the hooks cannot do without.
        """
        from mastwatch_instrumentations.crewai.hooks import Hooks

        hooks = Hooks(emitter, patches, self.traced_by)
        if not hooks.install():
            raise DidNotEnable("crewai has no Crew.kickoff or no agent executor as we know them")
        return hooks.status
