"""Steps of one tree are told in the order of their ends, also where one has to wait."""

from __future__ import annotations

import contextvars
from collections import deque
from collections.abc import Callable, Iterable
from threading import Lock

from mastwatch.guard import guard
from mastwatch.spans.bridging.opened import Entry, Tree
from mastwatch.spans.scope import current_scope

MAX_WAIT = 5.0
"""Seconds for which a step waits for a span around it to say what it is."""
MAX_QUEUED = 256
"""Steps of one tree that wait at once."""
MAX_HELD = 1_024
"""Steps that wait at once, of all trees."""


class Order:
    """Hands steps on, each when it is ready.

    Args:
        tell: Tells one; called without the lock, by one thread at a time for each tree.
        lock: The listener's.
        clock: Monotonic seconds.
    """

    def __init__(
        self, tell: Callable[[Entry], None], lock: Lock, clock: Callable[[], float]
    ) -> None:
        self._tell = tell
        self._lock = lock
        self._clock = clock
        self._held: deque[Entry] = deque()  # those that wait, the longest first

    def clear(self) -> None:
        """Forget them all."""
        self._held.clear()

    def place(self, entry: Entry) -> None:
        """Queue a step; its caller holds the lock."""
        for other in entry.waits:
            other.waiting.append(entry)
        if entry.waits:
            self._held.append(entry)
        entry.span.tree.queue.append(entry)

    def overdue(self, patience: float | None = None) -> list[Tree]:
        """The trees of steps that have waited long enough; its caller holds the lock."""
        trees = []
        since = self._clock() - (MAX_WAIT if patience is None else patience)
        while self._held:
            entry, crowded = self._held[0], len(self._held) > MAX_HELD
            if not (crowded or entry.since < since or _is_ready(entry)):
                break
            self._held.popleft()
            for other in entry.waits:
                other.vain = not other.ended
            entry.waits = set()
            trees.append(entry.span.tree)
        return trees

    def drain(self, trees: Iterable[Tree]) -> None:
        """Tell what is ready in these trees."""
        for tree in dict.fromkeys(trees):
            if tree.queue and not tree.draining:
                # What is set while telling must not stay in the host's context.
                contextvars.copy_context().run(self._drain, tree)

    def _drain(self, tree: Tree) -> None:
        current_scope.set(None)
        entry = self._next(tree, mine=False)
        while entry is not None:
            try:
                with guard("bridge.tell"):
                    self._tell(entry)
            except BaseException:
                tree.draining = False
                raise
            entry = self._next(tree, mine=True)

    def _next(self, tree: Tree, mine: bool) -> Entry | None:
        """The next step that is ready; None when there is none, or another thread is at it.

        No lock is held while telling: sinks may do anything, such as wait for a thread whose
        spans end here meanwhile. They are queued, and told by who is telling.
        """
        with self._lock:
            if tree.draining and not mine:
                return None
            while tree.queue:
                entry = tree.queue[0]
                if not _is_ready(entry) and len(tree.queue) <= MAX_QUEUED:
                    break
                tree.queue.popleft()
                if not entry.merged and (entry.span.counted or entry.span.conversation):
                    tree.draining = entry.told = True
                    return entry
            tree.draining = False
            return None


def _is_ready(entry: Entry) -> bool:
    return entry.merged or all(other.ended for other in entry.waits)
