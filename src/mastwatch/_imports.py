"""Runs a callback right after a module is imported, so that no framework is imported by us."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from mastwatch.guard import guard


class ImportHook(MetaPathFinder):
    """A finder that finds nothing itself: it lets the others find, and watches a module's birth."""

    def __init__(self) -> None:
        self._wanted: dict[str, Callable[[], None]] = {}
        self._busy = threading.local()

    def when_imported(self, name: str, callback: Callable[[], None]) -> None:
        """Call back once ``name`` is imported: now if it is already, else right after.

        Args:
            name: Dotted module name.
            callback: Its errors are guarded.
        """
        if name in sys.modules:
            with guard("import_hook"):
                callback()
            return
        self._wanted[name] = callback
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def remove(self) -> None:
        """Forget all callbacks and leave ``sys.meta_path``."""
        self._wanted.clear()
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Let the other finders find a wanted module, and wrap its loader."""
        callback = self._wanted.get(fullname)
        if callback is None or getattr(self._busy, "on", False):
            return None
        self._busy.on = True
        try:
            spec = _find_elsewhere(self, fullname, path, target)
        finally:
            self._busy.on = False
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, lambda: self._imported(fullname))
        return spec

    def _imported(self, name: str) -> None:
        callback = self._wanted.pop(name, None)
        if callback is not None:
            with guard("import_hook"):
                callback()


def _find_elsewhere(
    ours: MetaPathFinder, name: str, path: Sequence[str] | None, target: ModuleType | None
) -> ModuleSpec | None:
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        if finder is ours or find is None:
            continue
        spec: ModuleSpec | None = find(name, path, target)
        if spec is not None:
            return spec
    return None


class _Loader(Loader):
    """The real loader, plus a callback after the module's body has run."""

    def __init__(self, inner: Any, imported: Callable[[], None]) -> None:
        self._inner = inner
        self._imported = imported

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self._inner.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        # Nothing of ours may stay on the module: tools look at __loader__ and __spec__.
        if module.__spec__ is not None:
            module.__spec__.loader = self._inner
        module.__loader__ = self._inner
        self._inner.exec_module(module)
        self._imported()
