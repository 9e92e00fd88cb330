"""``mastwatch.allow``: say in code that a failure mode is no failure here, and why."""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

from mastwatch import taxonomy
from mastwatch.findings import Finding
from mastwatch.patterns import Patterns

_log = logging.getLogger("mastwatch")
_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Allowance:
    """What one ``allow`` block is about."""

    mode: str
    reason: str
    agent: Patterns
    tool: Patterns

    def covers(self, finding: Finding) -> bool:
        """Whether the finding is one that was allowed."""
        return (
            finding.mode == self.mode
            and self.agent.match(finding.agent)
            and self.tool.match(finding.tool)
        )


open_allowances: ContextVar[tuple[Allowance, ...]] = ContextVar("mastwatch_allowances", default=())
"""The ``allow`` blocks we are in, outermost first."""


def allowance_for(finding: Finding) -> Allowance | None:
    """The innermost allowance of this context that covers the finding."""
    for allowance in reversed(open_allowances.get()):
        if allowance.covers(finding):
            return allowance
    return None


class allow:
    """Suppress a failure mode's findings that arise in here; they are counted, with the reason.

    Use it with ``with`` or ``async with``, or as a decorator of a function or coroutine function.
    It holds for everything called from the block and for the tasks, threads and pieces of work in
    thread pools that are begun in it.

    Args:
        mode: The failure mode, by code (``FM-1.3``) or slug (``step_repetition``).
        reason: Why it is no failure; must not be empty.
        agent: Only findings about this agent, or one of these; wildcards as in a shell.
        tool: Only findings about this tool, or one of these; wildcards as in a shell.

    Raises:
        ValueError: There is no such mode, or the reason is empty.
        TypeError: The reason is no text, or an agent or tool is no name.

    >>> with allow("FM-1.3", reason="polls a queue on purpose", tool="poll_*"):
    ...     pass
    """

    def __init__(
        self,
        mode: str,
        *,
        reason: str,
        agent: str | Iterable[str] | None = None,
        tool: str | Iterable[str] | None = None,
    ) -> None:
        try:
            code = taxonomy.mode(mode).code
        except (KeyError, TypeError):
            known = ", ".join(m.code for m in taxonomy.MODES)
            raise ValueError(f"{mode!r} is no MAST failure mode; known codes: {known}") from None
        if not isinstance(reason, str):
            raise TypeError(f"allow() needs a reason in words, not {reason!r}")
        if not reason.strip():
            raise ValueError("allow() needs a reason")
        self._allowance = Allowance(code, reason.strip(), _patterns(agent), _patterns(tool))

    def __enter__(self) -> allow:
        open_allowances.set((*open_allowances.get(), self._allowance))
        return self

    def __exit__(self, *error: object) -> None:
        # No token: one object may be entered by several tasks, and left in another context than
        # it was entered in (a generator that is closed late), where a token would raise.
        mine = self._allowance
        left = list(open_allowances.get())
        for position in reversed(range(len(left))):
            if left[position] is mine:
                del left[position]
                open_allowances.set(tuple(left))
                return

    async def __aenter__(self) -> allow:
        return self.__enter__()

    async def __aexit__(self, *error: object) -> None:
        self.__exit__()

    def __call__(self, function: _Function) -> _Function:
        """Allow it in all calls of ``function``."""
        wrapper: Any
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def wrapper(*args: Any, **kwargs: Any) -> Any:
                with self:
                    return await function(*args, **kwargs)

        else:
            if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
                _log.warning(
                    "mastwatch.allow() does not reach into the generator %s; put a with block "
                    "into its body",
                    getattr(function, "__qualname__", function),
                )

            @functools.wraps(function)
            def wrapper(*args: Any, **kwargs: Any) -> Any:
                with self:
                    return function(*args, **kwargs)

        result: _Function = wrapper
        return result


def _patterns(names: str | Iterable[str] | None) -> Patterns:
    if names is None:
        return Patterns()
    return Patterns.read(names if isinstance(names, str) else tuple(names))
