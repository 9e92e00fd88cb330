"""Carries out what the host lets mastwatch do to a run: end it, or say something in it.

Callbacks cannot do either: what they raise is swallowed, what they are shown is a copy. So this is
the one place where LangChain is patched, and only where the host lets us act.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from langchain_core.runnables.config import var_child_runnable_config

from mastwatch.guard import guard
from mastwatch.interventions import SPEAKER, Interventions, RunHalted
from mastwatch.spans.emit import Emitter
from mastwatch_instrumentations._patch import Call, Hook, Patches, after, argument
from mastwatch_instrumentations.langchain import names, parents
from mastwatch_instrumentations.langchain.messages import langgraph
from mastwatch_instrumentations.langchain.state import Step, Store

_LOOP = "langgraph.pregel._loop"


class Brake:
    """Ends runs and speaks in them.

    A graph is asked through its ``RunControl`` to stop after the present step: its state is in the
    checkpoint, and its caller gets ``GraphDrained``. What asks a model all the same (a plain loop,
    a node that loops by itself) gets ``RunHalted`` instead of an answer.

    Args:
        emitter: Knows the orders.
        store: Knows the steps.
        interventions: Tells of a run that is to end.
    """

    def __init__(self, emitter: Emitter, store: Store, interventions: Interventions) -> None:
        self._emitter = emitter
        self._store = store
        self._patches = Patches()
        self._in_graphs = False
        for name in ("generate", "agenerate"):
            self._patches.wrap(BaseChatModel, name, self._asked(_OfGenerate))
        for name in ("stream", "astream"):
            self._patches.wrap(BaseChatModel, name, self._asked(_OfStream))
        interventions.when_halting(self._drain)

    def attach(self) -> None:
        """Watch the controls of graphs, as soon as the app has LangGraph."""
        if self._in_graphs or _LOOP not in sys.modules:
            return
        self._in_graphs = True
        loop = getattr(sys.modules[_LOOP], "PregelLoop", None)
        if loop is not None:
            self._patches.wrap(loop, "__init__", after("langchain.control", self._began))

    def remove(self) -> None:
        """Take the patches back."""
        self._patches.undo()

    def _began(self, loop: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        """Note a graph's control with its step."""
        step = self._store.get(getattr(loop.manager, "run_id", None))
        runtime = loop.config.get("configurable", {}).get("__pregel_runtime")
        control = getattr(runtime, "control", None)
        if step is None or control is None:
            return
        step.control = control
        interventions = self._emitter.interventions
        reason = interventions.reason(self._run_id(step)) if interventions is not None else ""
        if reason:  # the run of the host's own that it belongs to was halted before
            control.request_drain(reason)

    def _drain(self, run_id: str, reason: str) -> None:
        for session in self._store.sessions():
            if session.run is None or session.run.id != run_id:
                continue
            for step in list(session.steps.values()):
                if step.control is not None:
                    step.control.request_drain(reason)

    def ended(self, step: Step, error: BaseException) -> None:
        """Tell the caller of a drained graph what it was ended for, on the exception it gets."""
        interventions, run_id = self._emitter.interventions, self._run_id(step)
        if not isinstance(error, langgraph("errors", "GraphDrained")) or interventions is None:
            return
        if not isinstance(error, RunHalted) and run_id and interventions.halting(run_id):
            halted = interventions.end(run_id)
            for name in ("run_id", "finding", "transcript"):
                setattr(error, name, getattr(halted, name))

    def _asked(self, read: Any) -> Hook:
        """The hook of a model's method: it is not asked in a run that is to end."""

        def hook(call: Call, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            halted: RunHalted | None = None
            with guard("langchain.act"):
                callbacks, metadata = read.caller(args, kwargs)
                interventions, run_id = self._emitter.interventions, self._run_of(callbacks)
                if interventions is not None and interventions.halting(run_id):
                    halted = _as_langgraph(interventions.end(run_id))
                elif interventions is not None and not names.is_internal_call(metadata or {}):
                    text = interventions.take_nudge(run_id)
                    if text:
                        args, kwargs = read.with_message(model, args, kwargs, text)
            if halted is not None:
                raise halted
            return call(*args, **kwargs)

        return hook

    def _run_of(self, callbacks: Any) -> str:
        """The run in which a model is asked with these callbacks; empty for none."""
        parent = parents.caller(getattr(callbacks, "parent_run_id", None))
        step = self._store.get(parent)
        if step is not None:
            return self._run_id(step)
        scope = self._emitter.current()
        return scope.run.id if scope is not None else ""

    @staticmethod
    def _run_id(step: Step) -> str:
        return step.session.run.id if step.session.run is not None else ""


class _OfGenerate:
    """The arguments of ``generate(messages, stop, callbacks, *, metadata=...)``."""

    @staticmethod
    def caller(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        return argument(args, kwargs, 2, "callbacks"), kwargs.get("metadata")

    @staticmethod
    def with_message(
        model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], text: str
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        said = [[*one, _nudge(text)] for one in argument(args, kwargs, 0, "messages")]
        return ((said, *args[1:]), kwargs) if args else (args, {**kwargs, "messages": said})


class _OfStream:
    """The arguments of ``stream(input, config)``."""

    @staticmethod
    def caller(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        config = argument(args, kwargs, 1, "config") or {}
        around = var_child_runnable_config.get() or {}
        callbacks = config.get("callbacks") or around.get("callbacks")
        return callbacks, config.get("metadata") or around.get("metadata")

    @staticmethod
    def with_message(
        model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], text: str
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        given = model._convert_input(argument(args, kwargs, 0, "input")).to_messages()
        said = [*given, _nudge(text)]
        return ((said, *args[1:]), kwargs) if args else (args, {**kwargs, "input": said})


def _nudge(text: str) -> HumanMessage:
    return HumanMessage(text, name=SPEAKER)


def _as_langgraph(halted: RunHalted) -> RunHalted:
    """The exception as LangGraph's control flow, so that no node retries or handles it."""
    base = langgraph("errors", "GraphDrained") or langgraph("errors", "GraphBubbleUp")
    if not base:
        return halted
    kind = _kind(base)
    return kind(halted.reason, halted.run_id, halted.finding, halted.transcript)


@cache
def _kind(base: type[Exception]) -> type[RunHalted]:
    return type("GraphHalted", (RunHalted, base), {"__doc__": RunHalted.__doc__})
