"""How a run ended, from what stopped it."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import NamedTuple

from mastwatch.events import Outcome

_LIMITS = frozenset({"MaxMessageTermination", "TokenUsageTermination", "TimeoutTermination"})
_CUT = frozenset({"Max rounds reached."})  # of MagenticOneGroupChat, in place of an end
_TURNS = "Maximum number of turns "
_DONE = frozenset({"Digraph execution is complete"})
_NO_END = frozenset(
    {"The group chat is stopped.", "The group chat has already terminated."}
)  # written where no condition was met


class Stop(NamedTuple):
    """The message a team ended with.

    Attributes:
        reason: Its text.
        source: The conditions that were met, or the manager's name.
    """

    reason: str = ""
    source: str = ""


def wording(stop: Stop, manager: str) -> str:
    """Return the reason in AgentChat's own words, or those of a condition of the app's.

    MagenticOne's manager lets its model say why, and what a model says stays in the process.
    """
    if stop.source and stop.source != manager:
        return stop.reason
    fixed = stop.reason in _CUT | _DONE | _NO_END or stop.reason.startswith(_TURNS)
    return stop.reason if fixed or not stop.reason else "ended by its manager"


def of_stop(stop: Stop, handed_to: str, participants: Collection[str]) -> Outcome:
    """Return the outcome of a run that came to its end.

    Args:
        stop: What it ended with.
        handed_to: Whom the last hand-off was to.
        participants: The team's members; who is none of them is a person.
    """
    met = set(stop.source.split(", "))
    if "HandoffTermination" in met and handed_to not in participants:
        return "paused"
    if "ExternalTermination" in met:
        return "cancelled"
    if stop.reason in _NO_END:
        return "unknown"
    out_of_turns = stop.reason.startswith(_TURNS)
    return "limit" if met <= _LIMITS or out_of_turns or stop.reason in _CUT else "completed"


def of_error(error: BaseException) -> Outcome:
    """Return the outcome of a run that something was raised out of."""
    if isinstance(error, GeneratorExit):
        return "abandoned"
    if isinstance(error, (asyncio.CancelledError, KeyboardInterrupt)):
        return "cancelled"
    return "error"
