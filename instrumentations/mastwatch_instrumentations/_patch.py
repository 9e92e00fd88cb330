"""Wrap a library's methods so that they can be observed, and let go of them again.

A hook never changes what it observes: ``begin`` prepares (guarded), the host's call runs bare, the
frame that ``begin`` returned records what came of it (guarded). The exceptions are those the host
asked for with ``actions=``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Protocol, TypeAlias

from mastwatch.guard import guard
from mastwatch_instrumentations._sites import Call, Hook, Patches

__all__ = [
    "Attached",
    "Begin",
    "Call",
    "Frame",
    "Hook",
    "Instead",
    "Patches",
    "Record",
    "after",
    "after_async",
    "argument",
    "around",
    "around_async",
]


class Frame(Protocol):
    """What one observed call has open while it runs."""

    def attached(self) -> AbstractContextManager[None]:
        """Make it the current scope for the call."""

    def done(self, result: Any) -> None:
        """Record the result."""

    def failed(self, error: BaseException) -> None:
        """Record what was raised; it goes on to the caller as it is."""


class Instead:
    """What a call gives without being made: the host lets us act, and its run is to end.

    Args:
        result: What its caller gets.
    """

    __slots__ = ("result",)

    def __init__(self, result: Any) -> None:
        self.result = result


Begin: TypeAlias = Callable[[Any, tuple[Any, ...], dict[str, Any]], "Frame | Instead | None"]
"""Opens the frame of a call, or says None: nothing to see here."""


def around(where: str, begin: Begin) -> Hook:
    """Build the hook of a plain method from ``begin``; errors of ours are counted at ``where``."""

    def hook(call: Call, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        frame = None
        with guard(where):
            frame = begin(instance, args, kwargs)
        if frame is None:
            return call(*args, **kwargs)
        if isinstance(frame, Instead):
            return frame.result
        try:
            with Attached(where, frame):
                result = call(*args, **kwargs)
        except BaseException as error:
            with guard(where):
                frame.failed(error)
            raise
        with guard(where):
            frame.done(result)
        return result

    return hook


def around_async(where: str, begin: Begin) -> Hook:
    """Build the hook of a coroutine method from ``begin``."""

    async def hook(
        call: Callable[..., Awaitable[Any]],
        instance: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        frame = None
        with guard(where):
            frame = begin(instance, args, kwargs)
        if frame is None:
            return await call(*args, **kwargs)
        if isinstance(frame, Instead):
            return frame.result
        try:
            with Attached(where, frame):
                result = await call(*args, **kwargs)
        except BaseException as error:
            with guard(where):
                frame.failed(error)
            raise
        with guard(where):
            frame.done(result)
        return result

    return hook


Record: TypeAlias = Callable[[Any, tuple[Any, ...], dict[str, Any], Any], None]
"""``record(instance, args, kwargs, result)``."""


def after(where: str, record: Record) -> Hook:
    """Build a hook that only looks at a plain method's call once it has returned."""

    def hook(call: Call, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        result = call(*args, **kwargs)
        with guard(where):
            record(instance, args, kwargs, result)
        return result

    return hook


def after_async(where: str, record: Record) -> Hook:
    """Build a hook that only looks at a coroutine method's call once it is over."""

    async def hook(
        call: Callable[..., Awaitable[Any]],
        instance: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        result = await call(*args, **kwargs)
        with guard(where):
            record(instance, args, kwargs, result)
        return result

    return hook


def argument(
    args: tuple[Any, ...], kwargs: dict[str, Any], position: int, name: str, default: Any = None
) -> Any:
    """Find an argument of a call, however it was passed; ``position`` does not count ``self``.

    >>> argument((1, 2), {}, 1, "b"), argument((1,), {"b": 2}, 1, "b"), argument((), {}, 1, "b")
    (2, 2, None)
    """
    return args[position] if position < len(args) else kwargs.get(name, default)


class Attached:
    """The frame's ``attached()`` block, whose own failure must not reach the host.

    Args:
        where: Where errors of ours are counted.
        frame: The call's; None attaches nothing.
    """

    __slots__ = ("_block", "_frame", "_where")

    def __init__(self, where: str, frame: Frame | None) -> None:
        self._where = where
        self._frame = frame
        self._block: AbstractContextManager[None] | None = None

    def __enter__(self) -> None:
        if self._frame is None:
            return
        with guard(self._where):
            block = self._frame.attached()
            block.__enter__()
            self._block = block

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._block is not None:
            with guard(self._where):
                self._block.__exit__(None, None, None)
