"""The hooks: how the SDK is called, and how its streams and raw responses are read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from mastwatch.spans.emit import Emitter, HistoryMessage, ModelCall
from mastwatch_instrumentations._patch import (
    Patches,
    after,
    after_async,
    around,
    around_async,
)
from mastwatch_instrumentations.openai_sdk import reading
from mastwatch_instrumentations.openai_sdk.calls import Asking, Kind
from mastwatch_instrumentations.openai_sdk.collecting import ChatChunks, ResponseEvents
from mastwatch_instrumentations.openai_sdk.library import Library
from mastwatch_instrumentations.openai_sdk.streams import closed, listen

FRAMEWORK = "openai"
CHAT = Kind(reading.chat_answer, ChatChunks)
RESPONSES = Kind(reading.responses_answer, ResponseEvents)


class _Frame:
    """One observed call of ``create`` or ``parse``."""

    def __init__(self, hooks: Hooks, asking: Asking, streamed: bool) -> None:
        self._hooks = hooks
        self._asking = asking
        self._streamed = streamed

    def attached(self) -> AbstractContextManager[None]:
        """Make it the current scope for the call."""
        return self._asking.attached()

    def done(self, result: Any) -> None:
        """Read the answer, or wait until the app does."""
        library, asking = self._hooks.library, self._asking
        if isinstance(result, library.streams):
            listen(result, asking)
        elif not isinstance(result, library.raw):
            asking.answered(asking.kind.read(result))
        elif self._streamed or not self._hooks.read_body(result, asking):
            self._hooks.unread[result] = asking

    def failed(self, error: BaseException) -> None:
        """Record what was raised."""
        self._asking.failed(error)


class Hooks:
    """The hooks of one installation.

    Args:
        emitter: Where everything goes.
        library: The SDK's classes.
        traced: Says whether others make the spans at this moment.

    Attributes:
        unread: Raw responses whose answer the app has not read yet.
        status: Each hook, and whether it is in place.
    """

    def __init__(self, emitter: Emitter, library: Library, traced: Any) -> None:
        self.library = library
        self.unread: WeakKeyDictionary[Any, Asking] = WeakKeyDictionary()
        self.status: dict[str, bool] = {}
        self._emitter = emitter
        self._traced = traced
        self._mine: WeakSet[ModelCall] = WeakSet()

    def install(self, patches: Patches) -> None:
        """Wrap the methods."""
        library = self.library
        for owners, begin in ((library.chat, self.chat), (library.responses, self.responses)):
            for owner in owners:
                hook = around_async if owner.__name__.startswith("Async") else around
                for name in ("create", "parse"):
                    wrapped = patches.wrap(owner, name, hook(f"openai.{name}", begin))
                    self.status[f"{owner.__name__}.{name}"] = wrapped
        for owner, name, waits in library.readers:
            look = after_async if waits else after
            wrapped = patches.wrap(owner, name, look(f"openai.{name}", self._parsed))
            self.status[f"{owner.__name__}.{name}"] = wrapped
        for owner, waits in library.closers:
            look = after_async if waits else after
            wrapped = patches.wrap(owner, "close", look("openai.close", self._closed))
            self.status[f"{owner.__name__}.close"] = wrapped

    def chat(self, resource: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Begin a chat completion."""
        return self._begin(resource, kwargs, CHAT)

    def responses(self, resource: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Begin a response."""
        return self._begin(resource, kwargs, RESPONSES)

    def _begin(self, resource: Any, asked: Mapping[str, Any], kind: Kind) -> _Frame | None:
        emitter = self._emitter
        if emitter.suppressed() or emitter.model_span_here():
            return None
        model, provider = str(asked.get("model") or ""), reading.provider_of(resource)
        above = self._call_above()
        exchange = None
        if above is None:
            request: list[HistoryMessage]
            request = (
                reading.chat_request(asked) if kind is CHAT else reading.responses_request(asked)
            )
            exchange = emitter.histories.begin(
                request,
                framework=FRAMEWORK,
                model=model,
                provider=provider,
                follows=reading.follows(asked),
                spans=not self._traced(),
            )
            self._mine.add(exchange.call)
        asking = Asking(kind, exchange, above, provider, model, emitter.histories.later)
        return _Frame(self, asking, asked.get("stream") is True)

    def _call_above(self) -> ModelCall | None:
        """The model call of a library above us; one of our own is a stream that is still open."""
        current = self._emitter.current()
        for call in (self._emitter.model_call_here(), current):
            if isinstance(call, ModelCall) and call not in self._mine:
                return call
        return None

    def read_body(self, raw: Any, asking: Asking) -> bool:
        """Read the answer from a raw response, if its body is there."""
        try:
            said = json.loads(raw.http_response.content)
        except (RuntimeError, ValueError):  # not read yet, or no JSON
            return False
        asking.answered(asking.kind.read(said))
        return True

    def _parsed(self, raw: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        asking = self.unread.pop(raw, None)
        if asking is None:
            return
        if isinstance(result, self.library.streams):
            listen(result, asking)
        elif not self.read_body(raw, asking):
            self.unread[raw] = asking

    def _closed(
        self, owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
    ) -> None:
        closed(owner)
        asking = self.unread.pop(owner, None) if isinstance(owner, self.library.raw) else None
        if asking is not None and not self.read_body(owner, asking):
            # Read line by line or byte by byte: what was said is not known.
            asking.answered(reading.Answer())
