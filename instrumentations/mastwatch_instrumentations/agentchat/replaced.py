"""Functions that are no methods, replaced by ones that observe: as ``_patch`` does for methods."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

from mastwatch_instrumentations._patch import Call, Hook

Observe: TypeAlias = "Callable[[AbstractContextManager[Any]], AbstractContextManager[Any]]"
"""Makes of a ``with`` block one that is observed."""


class Replaced:
    """The replaced functions of one installation."""

    def __init__(self) -> None:
        self._sites: list[_Site] = []

    def static(self, owner: type, name: str, hook: Hook) -> bool:
        """Wrap a static coroutine method; say whether there is one.

        Args:
            owner: Its class.
            name: Its name.
            hook: As for a method; the instance is None.
        """
        before = inspect.getattr_static(owner, name, None)
        if not isinstance(before, staticmethod):
            return False
        if not inspect.iscoroutinefunction(inspect.unwrap(before.__func__)):
            return False
        original: Call = before.__func__

        def make(site: _Site) -> Any:
            @functools.wraps(original)
            async def wrapper(*args: Any, **kwargs: Any) -> Any:
                if site.hook is None:
                    return await original(*args, **kwargs)
                return await site.hook(original, None, args, kwargs)

            return staticmethod(wrapper)

        self._put(owner, name, before, make, hook)
        return True

    def block(self, module: Any, name: str, observe: Observe) -> bool:
        """Wrap a module's context manager function; say whether there is one."""
        original = getattr(module, name, None)
        if not callable(original):
            return False

        def make(site: _Site) -> Any:
            @functools.wraps(original)
            def wrapper(*args: Any, **kwargs: Any) -> AbstractContextManager[Any]:
                block: AbstractContextManager[Any] = original(*args, **kwargs)
                return block if site.hook is None else site.hook(block)

            return wrapper

        self._put(module, name, original, make, observe)
        return True

    def _put(
        self, owner: Any, name: str, before: Any, make: Callable[[_Site], Any], hook: Any
    ) -> None:
        known = _existing(before)
        if known is None:
            known = _Site(owner, name, before, hook)
            known.put(make(known))
        elif known.hook is None:
            known.hook = hook  # left behind under a wrapper of others
        else:
            return
        self._sites.append(known)

    def undo(self) -> None:
        """Make every wrapper inert, then take off what is still on top."""
        for site in self._sites:
            site.hook = None
        for site in reversed(self._sites):
            site.remove()
        self._sites.clear()


class _Site:
    """One replaced function; its wrapper is inert while ``hook`` is None."""

    def __init__(self, owner: Any, name: str, before: Any, hook: Any) -> None:
        self.hook = hook
        self._owner = owner
        self._name = name
        self._before = before
        self._wrapper: Any = None

    def put(self, wrapper: Any) -> None:
        self._wrapper = wrapper
        _function(wrapper).__mastwatch_replaced__ = self
        setattr(self._owner, self._name, wrapper)

    def is_of(self, function: Any) -> bool:
        return _function(self._wrapper) is function

    def remove(self) -> None:
        if inspect.getattr_static(self._owner, self._name, None) is self._wrapper:
            setattr(self._owner, self._name, self._before)


def _function(wrapper: Any) -> Any:
    return getattr(wrapper, "__func__", wrapper)


def _existing(found: Any) -> _Site | None:
    """Find a wrapper of ours below those of others."""
    function, seen = _function(found), 0
    while function is not None and seen < 50:
        site = None
        with contextlib.suppress(AttributeError):
            site = vars(_function(function)).get("__mastwatch_replaced__")
        # functools.wraps of others copies __dict__ along: only the wrapper itself counts.
        if isinstance(site, _Site) and site.is_of(_function(function)):
            return site
        function = getattr(function, "__wrapped__", None)
        seen += 1
    return None
