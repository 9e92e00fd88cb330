"""Where our span processor sits: on the global tracer provider, whichever that becomes."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.trace import SpanProcessor

from mastwatch.guard import guard


class Seats:
    """The tracer providers that have been given one span processor, each once.

    Args:
        processor: What they are given.
    """

    def __init__(self, processor: SpanProcessor) -> None:
        self._processor = processor
        # Compared by identity: Logfire's cannot be hashed.
        self._providers: list[weakref.ref[Any]] = []
        self._restore: list[Callable[[], None]] = []

    def follow(self) -> None:
        """Sit on the global provider, and on one that the host sets later.

        The API tells nobody of it. Every way of setting one, whatever function the host imported
        before, goes through one object that lets it happen once.
        """
        self._take_global()
        once = getattr(trace, "_TRACER_PROVIDER_SET_ONCE", None)
        self._restore.append(_after(once, "do_once", self._take_global))

    def _take_global(self) -> None:
        provider = trace.get_tracer_provider()
        self.take(provider)
        if _behind(provider) is not provider:  # Logfire's is given another when configured again
            self._restore.append(_after(provider, "set_provider", self._take_global))

    def take(self, provider: object) -> None:
        """Sit on a provider, once; one that takes no processors is left alone."""
        add = getattr(provider, "add_span_processor", None)
        behind = _behind(provider)
        if callable(add) and all(known() is not behind for known in self._providers):
            self._providers = [known for known in self._providers if known() is not None]
            self._providers.append(weakref.ref(behind))
            add(self._processor)

    def leave(self) -> None:
        """Follow no longer, and leave the providers where that can be done: no public way is."""
        while self._restore:
            self._restore.pop()()
        self._providers = [known for known in self._providers if not self._is_off(known())]

    def _is_off(self, provider: Any) -> bool:
        """Take the processor off a provider; whether that was possible."""
        active: Any = getattr(provider, "_active_span_processor", None)
        lock = getattr(active, "_lock", None)
        if not isinstance(getattr(active, "_span_processors", None), tuple) or lock is None:
            return provider is None
        with lock:
            others = tuple(p for p in active._span_processors if p is not self._processor)
            active._span_processors = others
        return True


def _behind(provider: Any) -> Any:
    """The provider that one passes everything on to; itself for nearly all."""
    inner = getattr(provider, "provider", None)
    return inner if isinstance(inner, trace.TracerProvider) else provider


def _after(owner: Any, name: str, then: Callable[[], None]) -> Callable[[], None]:
    """Do something after each call of a method, on this object alone; return what undoes this."""
    method = getattr(owner, name, None)
    if not callable(method) or name in vars(owner):
        return _nothing

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        result = method(*args, **kwargs)
        with guard("bridge.provider"):
            then()
        return result

    vars(owner)[name] = wrapper

    def restore() -> None:
        if vars(owner).get(name) is wrapper:
            del vars(owner)[name]

    return restore


def _nothing() -> None:
    """There is nothing to restore."""
