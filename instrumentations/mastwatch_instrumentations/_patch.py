"""Wrap a library's methods so that they can be observed, and let go of them again.

A hook never changes what it observes: ``begin`` prepares (guarded), the host's call runs bare, the
frame that ``begin`` returned records what came of it (guarded). The exceptions are those the host
asked for with ``actions=``.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Protocol, TypeAlias

from mastwatch.guard import guard

Call: TypeAlias = Callable[..., Any]
Hook: TypeAlias = Callable[[Call, Any, tuple[Any, ...], dict[str, Any]], Any]
"""``hook(call, instance, args, kwargs)``; ``call(*args, **kwargs)`` is the original, bound."""


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
            with _Attached(where, frame):
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
            with _Attached(where, frame):
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


class _Attached:
    """The frame's ``attached()`` block, whose own failure must not reach the host."""

    __slots__ = ("_block", "_frame", "_where")

    def __init__(self, where: str, frame: Frame) -> None:
        self._where = where
        self._frame = frame
        self._block: AbstractContextManager[None] | None = None

    def __enter__(self) -> None:
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


_INHERITED = object()


class _Site:
    """One wrapped method. Its wrapper stays inert while ``hook`` is None."""

    __slots__ = ("before", "hook", "name", "original", "owner", "wrapper")

    def __init__(self, owner: type, name: str, original: Callable[..., Any], hook: Hook) -> None:
        self.owner = owner
        self.name = name
        self.original = original
        self.before = vars(owner).get(name, _INHERITED)
        self.hook: Hook | None = hook
        self.wrapper = _wrapper(self)

    def put(self) -> None:
        setattr(self.owner, self.name, self.wrapper)

    def remove(self) -> None:
        self.hook = None  # first of all, and enough: others may have wrapped our wrapper
        if vars(self.owner).get(self.name) is not self.wrapper:
            return
        if self.before is _INHERITED:
            delattr(self.owner, self.name)
        else:
            setattr(self.owner, self.name, self.before)


def _wrapper(site: _Site) -> Callable[..., Any]:
    original = site.original
    wrapper: Any
    if inspect.iscoroutinefunction(inspect.unwrap(original)):

        @functools.wraps(original)
        async def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            hook = site.hook
            if hook is None:
                return await original(self, *args, **kwargs)
            return await hook(functools.partial(original, self), self, args, kwargs)

    else:

        @functools.wraps(original)
        def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            hook = site.hook
            if hook is None:
                return original(self, *args, **kwargs)
            return hook(functools.partial(original, self), self, args, kwargs)

    wrapper.__mastwatch_site__ = site
    return wrapper  # type: ignore[no-any-return]


def _existing(function: Any) -> _Site | None:
    """Find a wrapper of ours in a chain of wrappers, under those of others."""
    seen = 0
    while function is not None and seen < 50:
        site = vars(function).get("__mastwatch_site__") if hasattr(function, "__dict__") else None
        # functools.wraps of others copies __dict__ along: only the wrapper itself counts.
        if isinstance(site, _Site) and site.wrapper is function:
            return site
        function = getattr(function, "__wrapped__", None)
        seen += 1
    return None


class Patches:
    """The wrapped methods of one installation."""

    def __init__(self) -> None:
        self._sites: list[_Site] = []

    def wrap(self, owner: type, name: str, hook: Hook) -> bool:
        """Wrap a method on its class, so that instances made before are seen too.

        A method that is wrapped already stays wrapped once; one whose wrapper was left behind by
        an earlier ``undo`` (someone had wrapped it) gets its hook back.

        Returns:
            Whether there is such a method.
        """
        original: Any = getattr(owner, name, None)
        if original is None or not inspect.isfunction(inspect.unwrap(original)):
            return False
        site = _existing(original)
        if site is None:
            site = _Site(owner, name, original, hook)
            site.put()
        elif site.hook is None:
            site.hook = hook
        else:
            return True
        self._sites.append(site)
        return True

    def undo(self) -> None:
        """Make every hook inert, then unwrap what is still on top."""
        for site in self._sites:
            site.hook = None
        for site in reversed(self._sites):
            site.remove()
        self._sites.clear()
