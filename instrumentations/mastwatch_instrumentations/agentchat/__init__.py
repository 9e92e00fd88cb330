"""AutoGen AgentChat (``import autogen_agentchat``, what pyautogen 0.10 and later installs).

What is seen: every ``run`` and ``run_stream`` of a team (round robin, selector, swarm, graph,
MagenticOne) and of an agent on its own, and every ``on_messages`` called directly. Each is a run;
one inside another (a nested team, the team in a SocietyOfMindAgent, an agent or team as a tool) is
a branch of the run around it. In it: messages, turns, model calls of any ``ChatCompletionClient``,
tool calls, hand-offs, people that are asked, the stop reason.

What is no utterance: the echo of the task, thoughts and streamed pieces, a tool result said over
again (``ToolCallSummaryMessage``, the text of a hand-off tool), what an inner team said as the
outer one yields it again, the model calls in which a manager picks a speaker or keeps its ledgers.
What MagenticOne publishes (plan, instructions, answer) is. When it makes a new plan and empties its
agents' memories, they begin anew by design: their next model requests are not compared with those
before.

A run that ends by a hand-off to nobody in the team is paused; the next run of the team goes on
with it, unless it was reset. Else each run of a team is a run, of one conversation until a reset.

Spans: AutoGen opens ``invoke_agent`` and ``execute_tool`` spans by itself (scope
``autogen-core``), wherever a tracer provider is set. These are written on, and ours left out, so
that a turn and a tool call have one span each; what AutoGen has none for (the run, model calls, a
tool that does not exist, ``on_messages`` called directly) gets ours. Its ``create_agent`` and
``autogen ...`` spans of the runtime stay as they are; ``AUTOGEN_DISABLE_RUNTIME_TRACING=true``
silences the latter, and only these. A tool's result is known when AutoGen's span of it is over, so
content capture puts no results there, and a finding made of it stands on the run's span. Where
OpenInference has instrumented AgentChat, Events flow but the spans stay theirs.

Where the host lets mastwatch act (``actions=``): a halted team ends after the turn under way, as
by a termination condition, and returns its result; an agent on its own gets ``RunHalted`` from its
next model call. A nudge is added to what the next model is sent, signed ``mastwatch``, and stands
in no agent's history.

Not seen: participants that live in another process, and teams that are no ``BaseGroupChat``.
Nothing to configure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from mastwatch_instrumentations._base import PatchingInstrumentor
from mastwatch_instrumentations._patch import Patches

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mastwatch.spans.emit import Emitter
    from mastwatch_instrumentations.agentchat.hooks import Hooks

__all__ = ["AgentChatInstrumentor"]


class AgentChatInstrumentor(PatchingInstrumentor):
    """Watches AgentChat by patching its classes, so that older teams and agents are seen too."""

    name: ClassVar[str] = "agentchat"
    library: ClassVar[str] = "autogen_agentchat"
    distributions: ClassVar[tuple[str, ...]] = ("autogen-agentchat",)
    minimum: ClassVar[dict[str, str]] = {"autogen-agentchat": "0.7"}
    supersedes: ClassVar[tuple[str, ...]] = ("openai",)
    producers: ClassVar[tuple[str, ...]] = (
        "openinference.instrumentation.autogen_agentchat:AutogenAgentChatInstrumentor",
    )
    native: ClassVar[bool] = True
    scopes: ClassVar[tuple[str, ...]] = (
        "autogen-core",
        "autogen SingleThreadedAgentRuntime",
        "openinference.instrumentation.autogen_agentchat",
    )

    def __init__(self) -> None:
        super().__init__()
        self._hooks: Hooks | None = None

    def patch(self, emitter: Emitter, patches: Patches) -> Mapping[str, bool]:
        """Patch the classes.

        Raises:
            DidNotEnable: This AgentChat lacks what the hooks cannot do without.
        """
        from mastwatch_instrumentations.agentchat.hooks import Hooks
        from mastwatch_instrumentations.agentchat.library import load
        from mastwatch_instrumentations.agentchat.tracker import Tracker

        self._hooks = Hooks(Tracker(emitter, load(), self.traced_by), patches)
        self._hooks.install()
        return self._hooks.status

    def uninstall(self) -> None:
        """Make the hooks inert and unwrap what is still on top."""
        super().uninstall()
        hooks, self._hooks = self._hooks, None
        if hooks is not None:
            hooks.undo()
