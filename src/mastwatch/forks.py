"""What a forked child makes anew: locks that the parent's threads may hold, and whatever asks.

A pre-fork server (gunicorn with ``preload``, Celery) instruments its parent and works in children.
Only the forking thread lives on there: a lock held by another one would never be released.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Protocol

from mastwatch.guard import guard


class Remade(Protocol):
    """Something with a part that a forked child must not share."""

    def after_fork(self) -> None:
        """Make it anew; called in the child, before the child's own code runs."""


_remade: weakref.WeakSet[Remade] = weakref.WeakSet()
_locks: weakref.WeakSet[threading.Lock] = weakref.WeakSet()


def lock() -> threading.Lock:
    """A lock that is free in a forked child, whoever held it in the parent."""
    made = threading.Lock()
    _locks.add(made)
    return made


def free(held: threading.Lock) -> None:
    """Release a lock that somebody else made, in a forked child, whoever held it."""
    held._at_fork_reinit()  # type: ignore[attr-defined]  # as the standard library's own do


def remake(thing: Remade) -> None:
    """Call ``thing.after_fork()`` in every process forked from here, for as long as it lives."""
    _remade.add(thing)


def _after_fork() -> None:
    for each in list(_locks):
        free(each)
    for thing in list(_remade):
        with guard("fork"):
            thing.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
