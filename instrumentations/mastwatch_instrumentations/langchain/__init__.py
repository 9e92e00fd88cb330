"""LangChain and LangGraph: see ``LangChainInstrumentor``."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from mastwatch.guard import guard
from mastwatch.instrumentor import DidNotEnable, Instrumentor

if TYPE_CHECKING:
    from mastwatch.spans.emit import Emitter
    from mastwatch_instrumentations.langchain.handler import MastwatchHandler


class LangChainInstrumentor(Instrumentor):
    """Watch LangChain (1.x) and LangGraph (1.x) through LangChain's own callbacks.

    Traced: graphs and ``create_agent`` agents (sync, async, stream, batch, threads), the turns of
    their agents, model calls, tool calls, hand-offs, ``interrupt()`` and resume, nested graphs and
    parallel workers (a branch each), chains that call a model or a tool, bare model calls: these go
    on with the run whose history they extend.

    Not traced: chains that never call a model or a tool; retrievers; tokens of a stream (the
    answer counts once); what a node does without LangChain. A static breakpoint
    (``interrupt_before=``) ends a run as completed, since no callback tells of it. A new message
    on a thread that waits for a person begins a new run; the old one stays waiting. The recursion
    limit is not in the run's contract: it shows only once a node is at work.

    Callbacks hold no context, so a library that is called in a node or a tool starts a run of its
    own, as does a model that a node calls in a bare thread pool. On Python 3.10
    LangChain loses who calls in async nodes; the present task tells it instead.

    Where the host lets mastwatch act (``actions=``), ``BaseChatModel`` and the graphs' loop are
    patched too. A halted graph stops after its present step by its ``RunControl``: its caller gets
    ``GraphDrained`` with ``transcript``, and the state is in the checkpoint. Where a model is asked
    all the same, ``RunHalted`` is raised. A nudge is added to what the next model is sent.

    Where the official instrumentation, OpenInference or OpenLLMetry traces LangChain as well,
    Events flow and the spans stay theirs.

    Else nothing is patched: one handler joins every callback manager by a configure hook, so graphs
    made earlier, apps that pass no callbacks, and bare threads are seen as well.
    """

    name = "langchain"
    frameworks = ("langchain", "langgraph")
    library = "langchain_core"
    trigger = "langchain_core.tracers.context"
    distributions = ("langchain-core",)
    minimum = {"langchain-core": "1.7"}  # noqa: RUF012 - a ClassVar in the base
    supersedes = ("openai",)
    producers = (
        "opentelemetry.instrumentation.genai.langchain:LangChainInstrumentor",
        "openinference.instrumentation.langchain:LangChainInstrumentor",
        "opentelemetry.instrumentation.langchain:LangchainInstrumentor",
    )
    scopes = (
        "opentelemetry.instrumentation.genai.langchain",
        "openinference.instrumentation.langchain",
        "opentelemetry.instrumentation.langchain",
        "openlit.instrumentation.langchain",
        "openlit.instrumentation.langgraph",
    )

    def __init__(self) -> None:
        self._handler: MastwatchHandler | None = None
        self._hook: ContextVar[Any] | None = None

    def hooks(self) -> dict[str, bool]:
        """The one hook there is."""
        return {"configure_hook": self._hook is not None}

    def install(self, emitter: Emitter) -> None:
        """Let the handler join all callback managers from now on."""
        if self._handler is not None:
            return
        try:
            from langchain_core.tracers.context import register_configure_hook

            from mastwatch_instrumentations.langchain.handler import MastwatchHandler
        except ImportError as error:
            raise DidNotEnable(
                f"langchain-core cannot be hooked: {type(error).__name__}"
            ) from error
        if _in_place(MastwatchHandler):
            return  # that of another instance: two would tell everything twice
        self._handler = MastwatchHandler(emitter)
        # The *default* is what reaches bare threads and pools; a value set here would not.
        self._hook = ContextVar("mastwatch_langchain", default=self._handler)
        register_configure_hook(self._hook, inheritable=True)

    def intervene(self) -> tuple[str, ...]:
        """Patch what callbacks cannot do: a model's call, the beginning of a graph's loop."""
        if self._handler is not None:
            self._handler.intervene()
        return "halt", "nudge"

    def uninstall(self) -> None:
        """Make the handler inert, close the runs it still has open, withdraw the hook."""
        handler, hook = self._handler, self._hook
        self._handler = self._hook = None
        if handler is None:
            return
        handler.active = False
        with guard("langchain.uninstall"):
            handler.close()
        with guard("langchain.uninstall"):
            _withdraw(hook)


def _in_place(kind: type[Any]) -> bool:
    from langchain_core.tracers import context

    entries = getattr(context, "_configure_hooks", None) or ()
    return any(isinstance(entry[0].get(), kind) for entry in entries)


def _withdraw(hook: ContextVar[Any] | None) -> None:
    # LangChain has no unregister. Only our own entry is taken out, and in place: others may hold
    # the list.
    from langchain_core.tracers import context

    hooks = getattr(context, "_configure_hooks", None)
    if not isinstance(hooks, list):
        return
    for entry in list(hooks):
        if entry and entry[0] is hook:
            hooks.remove(entry)
