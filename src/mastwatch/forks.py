"""What a forked child makes anew: locks that the parent's threads may hold, and whatever asks.

A pre-fork server (gunicorn with ``preload``, Celery) instruments its parent and works in children.
Only the forking thread lives on there: a lock held by another one would never be released.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any, Protocol, TypeAlias

from mastwatch.guard import guard

Lock: TypeAlias = Any
"""``threading.Lock()`` or ``threading.RLock()``: functions, not types, in older Pythons."""


class Remade(Protocol):
    """Something with a part that a forked child must not share."""

    def after_fork(self) -> None:
        """Make it anew; called in the child, before the child's own code runs."""


_remade: weakref.WeakSet[Remade] = weakref.WeakSet()
_locks: weakref.WeakSet[Lock] = weakref.WeakSet()


def lock() -> Lock:
    """A lock that is free in a forked child, whoever held it in the parent.

    The thread that holds it may take it again. The garbage collector closes generators and streams
    that the host has left wherever it happens to run, in the middle of our own code too; what is
    told of them then must not wait for the very thread it stops.
    """
    made = threading.RLock()
    _locks.add(made)
    return made


def free(held: Lock) -> None:
    """Release a lock that somebody else made, in a forked child, whoever held it."""
    held._at_fork_reinit()  # as the standard library's own do


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
