"""Who called: LangChain's word, and on Python 3.10 what the present task last began.

Before Python 3.11 a task cannot be started in a given context, so LangChain loses the caller of
what an async node calls without passing its config on. Our callbacks run inline, in that very task:
what began here last, and has not ended, is the caller.
"""

from __future__ import annotations

import asyncio
import sys
from contextvars import ContextVar
from uuid import UUID

LOSES_CALLERS = sys.version_info < (3, 11)
_began: ContextVar[UUID | None] = ContextVar("mastwatch_langchain_began", default=None)


def caller(run_id: UUID | None) -> UUID | None:
    """The caller's id: the one LangChain gives, else the one known here."""
    return _began.get() if run_id is None and LOSES_CALLERS and _in_task() else run_id


def _in_task() -> bool:
    # Callers are lost between tasks only; in a plain thread what began and never ended may be a
    # stream that nobody reads on.
    try:
        return asyncio.current_task() is not None
    except RuntimeError:
        return False


def began(run_id: UUID) -> None:
    """Note that a chain or tool began in this task."""
    if LOSES_CALLERS:
        _began.set(run_id)


def ended(run_id: UUID, parent_id: UUID | None) -> None:
    """Note that it ended: its own caller calls on."""
    if LOSES_CALLERS and _began.get() == run_id:
        _began.set(parent_id)
