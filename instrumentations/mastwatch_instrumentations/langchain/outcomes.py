"""How a run ended, from the exception its root reports. Not every exception is an error."""

from __future__ import annotations

import asyncio
import concurrent.futures
from typing import NamedTuple

from mastwatch.events import Outcome
from mastwatch.interventions import RunHalted
from mastwatch_instrumentations.langchain.messages import langgraph

_CANCELLED = (asyncio.CancelledError, concurrent.futures.CancelledError, KeyboardInterrupt)


class Ending(NamedTuple):
    """Outcome, the framework's words for it, and the exception where it is an error."""

    outcome: Outcome
    reason: str
    error: BaseException | None = None


def ending_of(error: BaseException | None) -> Ending:
    """Tell how a run ended; reasons are words of the framework, never of the app."""
    if error is None:
        return Ending("completed", "end of graph")
    if isinstance(error, langgraph("errors", "GraphRecursionError")):
        # LangGraph's own sentence, "Recursion limit of 25 reached without hitting ...".
        return Ending("limit", str(error).split(" without", 1)[0][:80])
    if isinstance(error, langgraph("errors", "GraphInterrupt")):
        return Ending("paused", "interrupt")
    if isinstance(error, RunHalted):
        return Ending("cancelled", error.reason)
    if isinstance(error, langgraph("errors", "GraphDrained")):
        return Ending("cancelled", "drained")
    if isinstance(error, GeneratorExit):
        return Ending("abandoned", "stream closed before its end")
    if isinstance(error, _CANCELLED):
        return Ending("cancelled", type(error).__name__)
    if isinstance(error, langgraph("errors", "GraphBubbleUp")):
        return Ending("completed", type(error).__name__)
    return Ending("error", type(error).__name__, error)


def real_error(error: BaseException | None) -> BaseException | None:
    """Return the exception if it is an error: no hand-off, pause, early break or cancellation.

    Within a run a graph that hit its limit has failed its caller; for the root it is an outcome.
    """
    control_flow = (GeneratorExit, RunHalted, *_CANCELLED, langgraph("errors", "GraphBubbleUp"))
    return None if isinstance(error, control_flow) else error
