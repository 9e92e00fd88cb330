"""Listening to streams: the SDK's own stream object stays, its iterator is listened to.

A stream reads lazily from ``_iterator``. What stands in its place gives the same items at the same
time, raises the same exceptions, and passes everything else on.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from mastwatch.guard import guard
from mastwatch_instrumentations.openai_sdk.calls import Asking
from mastwatch_instrumentations.openai_sdk.collecting import Collector

_ITERATOR = "_iterator"


class _Listener:
    """What both kinds of iterator have in common."""

    def __init__(self, inner: Any, asking: Asking) -> None:
        self._inner = inner
        self._asking = asking
        self._collector: Collector = asking.kind.collect()
        asking.heard = self._collector

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def _heard(self, item: object) -> None:
        with guard("openai.stream"):
            self._collector.add(item)

    def _failed(self, error: BaseException) -> None:
        with guard("openai.stream"):
            self._asking.failed(error)

    def over(self) -> None:
        """The stream has ended, or was left."""
        with guard("openai.stream"):
            self._asking.left()


class Listener(_Listener, Iterator[Any]):
    """In the place of a stream's iterator."""

    def __next__(self) -> Any:
        try:
            item = next(self._inner)
        except StopIteration:
            self.over()
            raise
        except BaseException as error:
            self._failed(error)
            raise
        self._heard(item)
        return item


class AsyncListener(_Listener, AsyncIterator[Any]):
    """In the place of an asynchronous stream's iterator."""

    async def __anext__(self) -> Any:
        try:
            item = await self._inner.__anext__()
        except StopAsyncIteration:
            self.over()
            raise
        except BaseException as error:
            self._failed(error)
            raise
        self._heard(item)
        return item


def listen(stream: Any, asking: Asking) -> None:
    """Listen to a stream that nobody has read from yet."""
    inner = getattr(stream, _ITERATOR, None)
    if inner is None:
        return  # another SDK than we know: the call is told as one whose answer was not read
    kind = AsyncListener if hasattr(inner, "__anext__") else Listener
    setattr(stream, _ITERATOR, kind(inner, asking))


def closed(stream: Any) -> None:
    """A stream, or a helper around one, was closed: nobody reads the rest."""
    listener = getattr(getattr(stream, "_raw_stream", stream), _ITERATOR, None)
    if isinstance(listener, _Listener):
        listener.over()
