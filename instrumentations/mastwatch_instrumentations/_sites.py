"""Wrapped methods: put on a class, made inert, taken off again, whatever others do meanwhile."""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any, TypeAlias

Call: TypeAlias = Callable[..., Any]
Hook: TypeAlias = Callable[[Call, Any, tuple[Any, ...], dict[str, Any]], Any]
"""``hook(call, instance, args, kwargs)``; ``call(*args, **kwargs)`` is the original, bound."""

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


def inner_step(stream: Any, sent: Any = None) -> Any:
    """Ask an asynchronous generator inside one of ours for its next item: ``asend``, to await.

    The event loop does not hear of it, neither to close it at the loop's end nor when it is
    collected: it would do so beside ours, which closes it, and complain on stderr.
    """
    hooks = sys.get_asyncgen_hooks()
    sys.set_asyncgen_hooks(firstiter=None, finalizer=lambda _: None)
    try:
        return stream.asend(sent)
    finally:
        sys.set_asyncgen_hooks(*hooks)


def _wrapper(site: _Site) -> Callable[..., Any]:
    """A function of the same kind as the original: callers look at what kind a method is."""
    original = site.original
    wrapper: Any

    def call(self: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        hook = site.hook
        if hook is None:
            return original(self, *args, **kwargs)
        return hook(functools.partial(original, self), self, args, kwargs)

    if inspect.iscoroutinefunction(original):

        @functools.wraps(original)
        async def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            return await call(self, args, kwargs)

    elif inspect.isasyncgenfunction(original):

        @functools.wraps(original)
        async def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            stream = call(self, args, kwargs)
            item = sent = thrown = None
            with contextlib.suppress(StopAsyncIteration):  # there is no asynchronous "yield from"
                while True:
                    item = await (stream.athrow(thrown) if thrown else inner_step(stream, sent))
                    sent = thrown = None
                    try:
                        sent = yield item
                    except GeneratorExit:
                        await stream.aclose()
                        raise
                    except BaseException as error:
                        thrown = error

    elif inspect.isgeneratorfunction(original):

        @functools.wraps(original)
        def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            return (yield from call(self, args, kwargs))

    else:

        @functools.wraps(original)
        def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            hook = site.hook  # not by call(): agents recurse, and each frame counts
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
