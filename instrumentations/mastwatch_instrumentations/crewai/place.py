"""Where in a run the present code is: carried by the context, into CrewAI's threads as well."""

from __future__ import annotations

import asyncio
import weakref
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from mastwatch.events import Outcome, ToolRequest
from mastwatch.spans.emit import Run, Scope
from mastwatch_instrumentations.crewai import reading

here: ContextVar[Place | None] = ContextVar("mastwatch_crewai", default=None)
MAX_ASKED = 256
"""Tool calls of a turn that are remembered until they run."""


@dataclass(eq=False)
class Place:
    """A run of ours, or a branch, that is under way, and the turn in it.

    Attributes:
        run: The run or branch.
        owner: ``id()`` of the crew, flow or agent whose run it is.
        turn: The agent's turn, where there is one.
        forced: Why its last agent was made to answer; empty when it answered by itself. A list, so
            that the turns of a run share it.
    """

    run: Run
    owner: int
    turn: Turn | None = None
    forced: list[str] = field(default_factory=list)

    def ending(self) -> tuple[Outcome, str]:
        """How it ended where no exception came."""
        return ("limit", self.forced[-1]) if self.forced else ("completed", "")


@dataclass(eq=False)
class Turn:
    """An agent at work: one attempt of it at a task.

    Attributes:
        scope: Its span.
        agent: The agent's role.
        executor: What holds its conversation with the model.
        run: The run or branch it is in.
    """

    scope: Scope
    agent: str
    executor: weakref.ref[Any]
    run: Run
    place: Place
    _asked: list[tuple[ToolRequest, int]] = field(default_factory=list)

    def voices(self, messages: object) -> bool:
        """Whether a model that is sent these messages speaks for the agent.

        Its conversation begins with the very message that the executor's begins with; what memory,
        planning or a summary asks is a list of their own.
        """
        executor = self.executor()
        if executor is None or not isinstance(messages, list) or not messages:
            return False
        thread = _thread(executor)
        return bool(thread) and thread[0] is messages[0]

    def ask(self, requests: tuple[ToolRequest, ...], index: int) -> None:
        """Note the tool calls of a message."""
        self._asked.extend((request, index) for request in requests)
        del self._asked[:-MAX_ASKED]

    def asked(self, name: str, call_id: str | None) -> tuple[str | None, int | None]:
        """Which message asked for a tool call: the provider's call id, and its row."""
        for position, (request, index) in enumerate(self._asked):
            same = request.call_id == call_id if call_id else request.name == name
            if same:
                del self._asked[position]
                return request.call_id, index
        return call_id, None


def _thread(executor: Any) -> list[Any]:
    thread = getattr(executor, "messages", None)
    return thread if isinstance(thread, list) else getattr(executor, "_messages", None) or []


def outcome_of(error: BaseException) -> Outcome:
    """How a run ended that an exception came out of."""
    cancelled = isinstance(error, (asyncio.CancelledError, KeyboardInterrupt))
    return "cancelled" if cancelled else "error"


def wrong(error: BaseException) -> BaseException | None:
    """The exception, where it is an error of a turn or call."""
    return error if outcome_of(error) == "error" else None


def agent_here(place: Place | None, given: object = None) -> str:
    """Who is at work."""
    if given is not None and hasattr(given, "role"):
        return reading.role_of(given)
    return place.turn.agent if place is not None and place.turn is not None else ""
