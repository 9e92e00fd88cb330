"""LlamaIndex agents: see ``LlamaIndexInstrumentor``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mastwatch.instrumentor import DidNotEnable
from mastwatch_instrumentations._base import PatchingInstrumentor
from mastwatch_instrumentations._patch import Patches

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mastwatch.spans.emit import Emitter


class LlamaIndexInstrumentor(PatchingInstrumentor):
    """Watch LlamaIndex agents and workflows by patching their classes.

    Traced: every workflow that is run (``AgentWorkflow``, ``FunctionAgent``, ``ReActAgent``,
    ``CodeActAgent``, agents and workflows of the app's own) is a run; one that is run inside a
    step or a tool of another is a branch. Within: an agent's turn from its first step to its
    answer or hand-off, what it says in each step, model calls, tool calls, hand-offs, questions to
    a person (``wait_for_event``) and the answers. A ``Context`` that is passed again is the same
    conversation.

    A run ends when its workflow does, whether anybody awaits or streams it or not. One that is
    cancelled while it waits for a person is paused.

    Not traced: models streamed outside of an agent's step; query engines and retrievers, unless
    they ask a model in a run; chat engines.

    The dispatcher's events are not used: a span handler would be told of each call twice, under
    several names, and of a failure and a cancellation alike.

    Where the host lets mastwatch act (``actions=``): an agent of a run that is to end takes no
    further step; ``RunHalted`` comes out of the handler. A nudge is added to what the next model
    is sent.
    """

    name = "llama_index"
    library = "llama_index"
    trigger = "llama_index.core.agent.workflow"
    distributions = ("llama-index-core",)
    minimum = {"llama-index-core": "0.14"}  # noqa: RUF012 - a ClassVar in the base
    supersedes = ("openai",)
    producers = (
        "openinference.instrumentation.llama_index:LlamaIndexInstrumentor",
        "opentelemetry.instrumentation.genai.llama_index:LlamaIndexInstrumentor",
        "opentelemetry.instrumentation.llamaindex:LlamaIndexInstrumentor",
    )
    scopes = (
        "openinference.instrumentation.llama_index",
        "opentelemetry.instrumentation.genai.llama_index",
        "opentelemetry.instrumentation.llamaindex",
        "openlit.instrumentation.llamaindex",
    )

    def patch(self, emitter: Emitter, patches: Patches) -> Mapping[str, bool]:
        """Patch the classes.

        Raises:
            DidNotEnable: This LlamaIndex lacks what the hooks cannot do without.
        """
        from mastwatch_instrumentations.llama_index.hooks import Hooks

        hooks = Hooks(emitter, patches, self.traced_by)
        if not hooks.install():
            raise DidNotEnable("llama_index has no workflows or agents as we know them")
        return hooks.status
