"""The app's side: same results, same exceptions, no harm when we fail, nothing left behind."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tracers import context as tracers
from langgraph.graph import START, MessagesState, StateGraph
from opentelemetry import context as otel_context
from opentelemetry import trace

from apps import langgraph_apps as apps
from mastwatch import guard
from mastwatch_instrumentations.langchain import LangChainInstrumentor

INPUT = apps.INPUT


def _read(messages: list[BaseMessage]) -> list[tuple[str, str | None, Any]]:
    return [(type(m).__name__, m.name, m.content) for m in messages]


@pytest.mark.parametrize("make", [apps.supervisor_app, apps.tool_agent_app, apps.nested_agent_app])
def test_results_and_output_are_those_of_the_bare_app(make, capsys):
    bare = make().invoke(INPUT)
    bare_out = capsys.readouterr()
    instrumentor, watch = LangChainInstrumentor(), _Broken(broken=False)
    instrumentor.install(_emitter(watch))
    try:
        watched = make().invoke(INPUT)
    finally:
        instrumentor.uninstall()
    assert _read(watched["messages"]) == _read(bare["messages"])
    assert capsys.readouterr() == bare_out
    assert watch.seen > 0


def test_the_exception_is_the_same_object(seen):
    error = RuntimeError("mine")
    with pytest.raises(RuntimeError) as caught:
        apps.tool_agent_app([error]).invoke(INPUT)
    assert caught.value is error
    assert error.__cause__ is None
    assert error.__context__ is None


def test_current_span_is_untouched(seen):
    before = trace.get_current_span()
    inside: list[Any] = []

    def look(state: MessagesState) -> dict[str, Any]:
        inside.append(trace.get_current_span())
        return {"messages": []}

    graph = StateGraph(MessagesState)
    graph.add_node("look", look)
    graph.add_edge(START, "look")
    graph.compile().invoke(INPUT)
    assert inside == [before]
    assert trace.get_current_span() is before


class _Broken:
    def __init__(self, broken: bool = True) -> None:
        self.broken = broken
        self.seen = 0

    def observe(self, event: Any) -> list[Any]:
        self.seen += 1
        if self.broken:
            raise RuntimeError("the watch is broken")
        return []

    def deliver(self, event: Any, verdicts: Any) -> None:
        pass


def _emitter(watch: Any) -> Any:
    from opentelemetry.sdk.trace import TracerProvider

    from mastwatch.spans.emit import Emitter

    return Emitter(watch=watch, tracer=TracerProvider().get_tracer("mastwatch"))


@pytest.mark.parametrize("make", [apps.supervisor_app, apps.tool_agent_app, apps.nested_agent_app])
def test_our_errors_are_not_the_apps(make, monkeypatch):
    """With a broken watch the app runs on; the error is counted, and no state is left."""
    bare = make().invoke(INPUT)
    monkeypatch.delenv("MASTWATCH_RAISE_ERRORS")
    guard.reset()
    instrumentor = LangChainInstrumentor()
    instrumentor.install(_emitter(_Broken()))
    handler = instrumentor._handler
    try:
        watched = make().invoke(INPUT)
    finally:
        instrumentor.uninstall()
    assert _read(watched["messages"]) == _read(bare["messages"])
    assert any(where.startswith("langchain.") for where in guard.counts())
    assert handler is not None
    assert len(handler.store) == 0
    guard.reset()


def test_install_twice_is_once_and_uninstall_leaves_nothing(seen):
    seen.instrumentor.install(seen.emitter)
    ours = [entry for entry in tracers._configure_hooks if entry[0].name == "mastwatch_langchain"]
    assert len(ours) == 1
    apps.tool_agent_app().invoke(INPUT)
    assert len(seen.runs) == 1
    seen.instrumentor.uninstall()
    seen.instrumentor.uninstall()
    assert not [e for e in tracers._configure_hooks if e[0].name == "mastwatch_langchain"]
    apps.tool_agent_app().invoke(INPUT)
    assert len(seen.runs) == 1
    seen.instrumentor.install(seen.emitter)
    apps.tool_agent_app().invoke(INPUT)
    assert len(seen.runs) == 2


def test_uninstall_keeps_the_hooks_of_others(seen):
    from contextvars import ContextVar

    other: ContextVar[Any] = ContextVar("other", default=None)
    tracers.register_configure_hook(other, inheritable=True)
    try:
        seen.instrumentor.uninstall()
        assert [entry for entry in tracers._configure_hooks if entry[0] is other]
    finally:
        tracers._configure_hooks[:] = [e for e in tracers._configure_hooks if e[0] is not other]


def test_uninstall_in_mid_run_closes_it_and_the_app_goes_on(seen):
    stream = apps.supervisor_app().stream(INPUT)
    next(stream)
    seen.instrumentor.uninstall()
    assert seen.outcomes == [("unknown", "uninstrumented")]
    events = len(seen.watch.events)
    assert len(list(stream)) > 1
    assert len(seen.watch.events) == events


def test_a_run_begun_before_install_is_left_alone(seen):
    seen.instrumentor.uninstall()
    stream = apps.supervisor_app().stream(INPUT)
    next(stream)
    seen.instrumentor.install(seen.emitter)
    list(stream)
    assert seen.watch.events == []


def test_graphs_made_before_install_are_seen(seen):
    seen.instrumentor.uninstall()
    app = apps.supervisor_app()
    seen.instrumentor.install(seen.emitter)
    app.invoke(INPUT)
    assert seen.said() == apps.SUPERVISED


def test_suppressed_work_is_not_seen(seen):
    token = otel_context.attach(otel_context.set_value("suppress_instrumentation", True))
    try:
        apps.supervisor_app().invoke(INPUT)
        apps.ScriptedChat(replies=["Hello."]).invoke("Say hello.")
    finally:
        otel_context.detach(token)
    assert seen.watch.events == []
    assert seen.spans == ()
    assert seen.open == 0


def test_an_app_may_copy_its_config(seen):
    """The handler is in every callback manager; copying or pickling one must work as before."""
    copied: list[Any] = []

    def node(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        handlers = config["callbacks"].inheritable_handlers
        copied.extend([copy.deepcopy(handlers), copy.copy(handlers), pickle.dumps(handlers)])
        return {"messages": []}

    graph = StateGraph(MessagesState)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    graph.compile().invoke(INPUT)
    assert copied[0] == copied[1]
    assert len(pickle.loads(copied[2])) == len(copied[0])


def test_callbacks_of_the_app_are_called_as_before(seen):
    from langchain_core.callbacks import BaseCallbackHandler

    class Mine(BaseCallbackHandler):
        starts = 0

        def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
            self.starts += 1

    mine = Mine()
    apps.supervisor_app().invoke(INPUT, {"callbacks": [mine]})
    assert mine.starts == 6
    assert seen.said() == apps.SUPERVISED
