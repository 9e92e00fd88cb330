"""Works on several runs at once and gives the results in the order of the runs."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

from mastwatch.store import Trace

_T = TypeVar("_T")


async def in_order(
    traces: Iterator[Trace],
    work: Callable[[Trace], Coroutine[Any, Any, _T]],
    give: Callable[[Trace, _T], None],
    *,
    at_once: int,
    tell: Callable[[int], None],
) -> None:
    """Work on all runs; what is done when it is interrupted is given all the same.

    Args:
        traces: The runs; the next one is read when there is room for it.
        work: Gives the result of a run.
        give: Takes a result, as soon as those of all earlier runs were given.
        at_once: Runs under way together.
        tell: Called before each wait with how many are under way.
    """
    waiting: deque[tuple[Trace, asyncio.Task[_T]]] = deque()

    async def next_one() -> None:
        tell(len(waiting))
        trace, task = waiting[0]
        result = await task
        waiting.popleft()
        give(trace, result)

    try:
        while (trace := await asyncio.to_thread(next, traces, None)) is not None:
            waiting.append((trace, asyncio.create_task(work(trace))))
            while len(waiting) >= at_once:
                await next_one()
        while waiting:
            await next_one()
    finally:
        for trace, task in waiting:
            if task.done() and not task.cancelled() and task.exception() is None:
                give(trace, task.result())
