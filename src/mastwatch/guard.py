"""The one place where our own errors are caught.

mastwatch lives in a stranger's process: an error of ours must never become theirs. Every hook body
runs inside ``with guard("where"):``; the host's own call never does. What is caught is counted and
logged once per place. With ``MASTWATCH_RAISE_ERRORS=1`` (set by our own tests only) it is raised.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections import Counter
from collections.abc import Callable
from types import TracebackType

_log = logging.getLogger("mastwatch")
_lock = threading.RLock()  # protects _counts and _observers
if hasattr(os, "register_at_fork"):  # a thread of the parent may have held it
    os.register_at_fork(after_in_child=_lock._at_fork_reinit)  # type: ignore[attr-defined]
_counts: Counter[str] = Counter()
_observers: list[Callable[[str], None]] = []


class guard:
    """Swallow, count and log an Exception of ours; BaseExceptions pass.

    Args:
        where: The place, dotted: ``autogen.message``. Label of the metric, so from a fixed set.
    """

    __slots__ = ("where",)

    def __init__(self, where: str) -> None:
        self.where = where

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        return isinstance(error, Exception) and swallowed(self.where, error)


def swallowed(where: str, error: Exception) -> bool:
    """Count and log an error of ours; False where it is to be raised instead.

    For the innermost loop, where a ``try`` costs nothing and a ``with`` half a microsecond:
    ``except Exception as error: if not swallowed(where, error): raise``.
    """
    if os.environ.get("MASTWATCH_RAISE_ERRORS") == "1":
        return False
    # Hosts recurse too (two AG2 agents chatting are one recursion), and then our log line about
    # a RecursionError runs into the next one.
    with contextlib.suppress(RecursionError):
        report(where, error)
    return True


def report(where: str, error: Exception) -> None:
    """Count an error of ours and log it the first time it happens at this place.

    The log line names the place and the exception's type, never its message: that may quote the
    host's data.
    """
    with _lock:
        _counts[where] += 1
        first = _counts[where] == 1
        observers = list(_observers)
    for observe in observers:
        try:
            observe(where)
        except Exception:
            _log.debug("mastwatch: an error observer failed", exc_info=False)
    if first:
        place = _place(error)
        _log.warning(
            "mastwatch had an internal error in %s (%s%s). Your code runs on; there is just less "
            "telemetry. Further ones here are only counted in mastwatch_internal_errors_total.",
            where,
            type(error).__name__,
            place,
        )


def _place(error: Exception) -> str:
    traceback = error.__traceback__
    if traceback is None:
        return ""
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    code = traceback.tb_frame.f_code
    return f" at {os.path.basename(code.co_filename)}:{traceback.tb_lineno}"


def counts() -> dict[str, int]:
    """Errors of ours so far, by place."""
    with _lock:
        return dict(_counts)


def add_observer(observe: Callable[[str], None]) -> None:
    """Call ``observe(where)`` for every error of ours from now on."""
    with _lock:
        _observers.append(observe)


def remove_observer(observe: Callable[[str], None]) -> None:
    """Stop calling ``observe``; harmless if it was never added."""
    with _lock:
        if observe in _observers:
            _observers.remove(observe)


def reset() -> None:
    """Forget all counts, so that the next error at each place is logged again."""
    with _lock:
        _counts.clear()
