"""Hooks of generator methods: as lazy as before, and over when they are left.

A generator runs in the context of whoever asks for its next item, so a scope is attached for each
step and never across a ``yield``.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from typing import Any, Protocol

from mastwatch.guard import guard
from mastwatch_instrumentations._patch import Attached, Begin, Call, Frame, Hook
from mastwatch_instrumentations._sites import inner_step


class StreamFrame(Frame, Protocol):
    """What one observed stream has open: ``done(None)`` at its end, ``failed`` when it is left."""

    def item(self, item: Any) -> None:
        """Record an item, before the caller gets it."""


def around_stream(where: str, begin: Begin) -> Hook:
    """Build the hook of an asynchronous generator method.

    Args:
        where: Errors of ours are counted there.
        begin: Opens the StreamFrame when the first item is asked for, or says None.
    """

    async def hook(
        call: Call, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> AsyncGenerator[Any, Any]:
        frame: Any = None
        with guard(where):
            frame = begin(instance, args, kwargs)
        stream: AsyncGenerator[Any, Any] = call(*args, **kwargs)
        sent: Any = None
        thrown: BaseException | None = None
        while True:
            try:
                with Attached(where, frame):
                    step = inner_step(stream, sent) if thrown is None else stream.athrow(thrown)
                    item = await step
            except StopAsyncIteration:
                _over(where, frame, None)
                return
            except BaseException as error:
                _over(where, frame, error)
                raise
            _told(where, frame, item)
            sent = thrown = None
            try:
                sent = yield item
            except GeneratorExit as error:
                try:
                    with Attached(where, frame):
                        await stream.aclose()
                finally:
                    _over(where, frame, error)
                raise
            except BaseException as error:
                thrown = error

    return hook


def around_generator(where: str, begin: Begin) -> Hook:
    """Build the hook of a generator method; as ``around_stream``."""

    def hook(
        call: Call, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Generator[Any, Any, Any]:
        frame: Any = None
        with guard(where):
            frame = begin(instance, args, kwargs)
        stream: Generator[Any, Any, Any] = call(*args, **kwargs)
        sent: Any = None
        thrown: BaseException | None = None
        while True:
            try:
                with Attached(where, frame):
                    item = stream.send(sent) if thrown is None else stream.throw(thrown)
            except StopIteration as end:
                _over(where, frame, None)
                return end.value
            except BaseException as error:
                _over(where, frame, error)
                raise
            _told(where, frame, item)
            sent = thrown = None
            try:
                sent = yield item
            except GeneratorExit as error:
                try:
                    with Attached(where, frame):
                        stream.close()
                finally:
                    _over(where, frame, error)
                raise
            except BaseException as error:
                thrown = error

    return hook


def _told(where: str, frame: Any, item: Any) -> None:
    if frame is not None:
        with guard(where):
            frame.item(item)


def _over(where: str, frame: Any, error: BaseException | None) -> None:
    if frame is None:
        return
    with guard(where):
        if error is None:
            frame.done(None)
        else:
            frame.failed(error)
