"""Takes the current run along into threads and pools, so that it stays one run.

A thread begins with an empty context, and a pool's worker with that of nobody: what agents do there
would be runs of their own. While mastwatch is at work, ``Thread.start`` and
``ThreadPoolExecutor.submit`` (and what uses them: timers, ``loop.run_in_executor``) pass on what is
current where they are called, if that is a run of ours or a ``mastwatch.allow`` block: our scope,
and OpenTelemetry's context unless somebody else carries that.

What is carried lives as long as the thread or the piece of work. A thread that outlives its run
carries nothing more: a scope of a finished run is none.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, Token
from typing import Any, NamedTuple

from opentelemetry import context as otel_context
from opentelemetry.context import Context

from mastwatch.allowances import Allowance, open_allowances
from mastwatch.guard import guard
from mastwatch.spans.scope import ModelCall, Scope, current_scope, latest_call

_busy = threading.local()
"""``_busy.submitting``: a pool may start a worker on this thread now."""


class _Luggage(NamedTuple):
    scope: Scope | None
    call: ModelCall | None
    allowances: tuple[Allowance, ...]
    context: Context | None


class Carry:
    """The two patched methods."""

    def __init__(self) -> None:
        self._active = False
        self._patches: list[tuple[type, str, Any, Any]] = []

    def start(self) -> None:
        """Carry from now on."""
        if self._active:
            return
        self._active = True
        self._patch(threading.Thread, "start", self._starting)
        if "start" in vars(threading.Timer):  # once others have wrapped it
            self._patch(threading.Timer, "start", self._starting)
        self._patch(ThreadPoolExecutor, "submit", self._submitting)

    def stop(self) -> None:
        """Carry nothing more, and let go of what is still on top."""
        self._active = False
        for owner, name, original, wrapper in reversed(self._patches):
            if vars(owner).get(name) is wrapper:
                setattr(owner, name, original)
        self._patches.clear()

    def _patch(self, owner: type, name: str, make: Callable[[Any], Any]) -> None:
        # Called as the class gives it: wrappers of others (wrapt) look for the instance there.
        called = getattr(owner, name)
        wrapper = functools.wraps(called)(make(called))
        self._patches.append((owner, name, vars(owner)[name], wrapper))
        setattr(owner, name, wrapper)

    def _starting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def start(thread: threading.Thread, *args: Any, **kwargs: Any) -> Any:
            # A pool's worker serves whoever comes, long after the work it was started for.
            if self._active and not getattr(_busy, "submitting", False):
                with guard("carry"):
                    luggage = _pack()
                    carries = isinstance(vars(thread).get("run"), _Run)
                    if luggage is not None and not carries and thread.ident is None:
                        # On the instance: subclasses have run() methods of their own.
                        _Run(thread, luggage).put()
            return original(thread, *args, **kwargs)

        return start

    def _submitting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def submit(
            pool: ThreadPoolExecutor, fn: Callable[..., Any], /, *args: Any, **kwargs: Any
        ) -> Any:
            if not self._active:
                return original(pool, fn, *args, **kwargs)
            with guard("carry"):
                luggage = _pack()
                if luggage is not None and _same_interpreter(pool):
                    fn = functools.partial(_with, luggage, fn)
            before = getattr(_busy, "submitting", False)
            _busy.submitting = True
            try:
                return original(pool, fn, *args, **kwargs)
            finally:
                _busy.submitting = before

        return submit


def _same_interpreter(pool: ThreadPoolExecutor) -> bool:
    """Whether its work is called as it is; an InterpreterPoolExecutor's is pickled."""
    return all(kind.__module__ != "concurrent.futures.interpreter" for kind in type(pool).__mro__)


def _pack() -> _Luggage | None:
    """What is current here; None where that is nothing of ours."""
    scope = current_scope.get()
    if scope is not None and scope.run.finished:
        scope = None
    allowances = open_allowances.get()
    if scope is None and not allowances:
        return None
    context = otel_context.get_current() if scope is not None else None
    return _Luggage(scope, latest_call.get(), allowances, context)


class _Run:
    """Stands in for a thread's ``run`` until that is called."""

    __slots__ = ("_luggage", "_run", "_thread")

    def __init__(self, thread: threading.Thread, luggage: _Luggage) -> None:
        self._thread: threading.Thread | None = thread
        self._run = thread.run
        self._luggage: _Luggage | None = luggage

    def put(self) -> None:
        vars(self._thread)["run"] = self

    def __call__(self) -> None:
        thread, luggage, run = self._thread, self._luggage, self._run
        self._thread = self._luggage = None
        if thread is not None and vars(thread).get("run") is self:
            del vars(thread)["run"]
        if luggage is None:  # called again, by hand
            run()
        else:
            _with(luggage, run)


def _with(luggage: _Luggage, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call a function where it is current what was current where it was passed on."""
    tokens: list[tuple[ContextVar[Any], Token[Any]]] = []
    attached = None
    with guard("carry"):
        current: tuple[tuple[ContextVar[Any], object], ...] = (
            (current_scope, luggage.scope),
            (latest_call, luggage.call),
            (open_allowances, luggage.allowances),
        )
        for variable, value in current:
            tokens.append((variable, variable.set(value)))
        if luggage.context is not None and not otel_context.get_current():
            attached = otel_context.attach(luggage.context)
    try:
        return function(*args, **kwargs)
    finally:
        with guard("carry"):
            if attached is not None:
                otel_context.detach(attached)
            for variable, token in reversed(tokens):
                variable.reset(token)
