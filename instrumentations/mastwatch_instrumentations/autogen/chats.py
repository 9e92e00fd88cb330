"""The state of one AG2 chat."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mastwatch.events import MessageKind, Outcome
from mastwatch.spans.emit import Run
from mastwatch_instrumentations.autogen import reading

if TYPE_CHECKING:
    from mastwatch_instrumentations.autogen.tracker import Tracker
    from mastwatch_instrumentations.autogen.turns import Turn

MAX_TEXTS = 512
"""Utterances remembered (as hashes) per chat, to know a carry-over by."""

MAX_ASKED = 256
"""Tool calls remembered per chat, to know who asked."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Who asked for a tool call, and in which row."""

    agent: str
    index: int


class Chat:
    """The frame of one chat: its run (or branch of one), and what its messages need to be read.

    A chat is one line of talk; only its tool and model calls may run on other threads.
    """

    def __init__(
        self,
        tracker: Tracker,
        run: Run,
        initiator: Any,
        recipient: Any,
        turns: int | None = None,
        members: Iterable[Any] = (),
    ) -> None:
        self.run = run
        self.borrowed = False  # the run is someone else's: we only know it for this one turn
        self.handing_over = ""  # who hands over by a condition, until a speaker is chosen
        self._tracker = tracker
        self._initiator = initiator
        self._recipient = recipient
        self._turns = turns
        self._reason = ""
        self._left = False
        self._members = {id(agent) for agent in members}
        self._opened = False
        self._pending: dict[int, Turn] = {}  # by id of the agent, which the turn keeps alive
        self._asked: OrderedDict[str, Asked] = OrderedDict()
        self._texts: OrderedDict[int, None] = OrderedDict()
        self.last_asked: Asked | None = None
        self.silent: Any = None  # the agent whose turn, since the last message, gave no reply

    @property
    def opened(self) -> bool:
        """Whether anything was said in it yet."""
        return self._opened

    def has(self, agent: Any) -> bool:
        """Whether an agent takes part in it; a group chat's members may change on the way."""
        if id(agent) in self._members:
            return True
        group = getattr(self._recipient, "groupchat", None) if self._members else None
        return group is not None and any(agent is member for member in group.agents)

    def is_between(self, agent: Any) -> bool:
        """Whether an agent is one of the two that the chat was opened between."""
        return agent is self._initiator or agent is self._recipient

    def attached(self) -> AbstractContextManager[None]:
        """Make its run the current scope."""
        return self.run.attached()

    def await_message(self, turn: Turn) -> None:
        """Keep a finished turn until its reply shows up as a message."""
        self.drop_pending(turn.agent)
        self._pending[id(turn.agent)] = turn

    def drop_pending(self, agent: Any) -> None:
        """End the agent's last turn if its reply never became a message."""
        turn = self._pending.pop(id(agent), None)
        if turn is not None:
            turn.end()

    def ending(self, reason: str) -> None:
        """Take note of why AG2 is about to end it."""
        # The first one since the last message: "No reply generated" only follows from it.
        if not self._reason:
            self._reason = reason
            self._left = self._reader_left()

    def received(self, message: Any, sender: Any, recipient: Any) -> None:
        """Take note of a message that was delivered."""
        self._reason = ""  # whatever was said about the end, the chat goes on
        self.silent = None
        turn = self._pending.pop(id(sender), None)
        try:
            if reading.only_tool_results(message) or sender.name in reading.TOOL_EXECUTORS:
                return
            if turn is not None and not turn.spoken:
                return
            kind: MessageKind = turn.kind if turn else "reply"
            if turn is None and not self._opened and sender is self._initiator:
                kind = "opener"
            self._opened = True
            if kind != "opener" or not self._carried_over(message):
                self.say(message, sender, recipient, kind, turn)
        finally:
            if turn is not None:
                turn.end()

    def say(
        self, message: Any, sender: Any, recipient: Any, kind: MessageKind, turn: Turn | None
    ) -> None:
        """Emit an utterance."""
        text = reading.message_text(message)
        calls = reading.tool_requests(message)
        self._opened = True
        if text:
            self._texts[hash(text)] = None
            _bound(self._texts, MAX_TEXTS)
        index = self.run.message(
            sender.name,
            text,
            recipients=() if recipient is None else (recipient.name,),
            role="user" if kind in ("opener", "human") else "assistant",
            kind=kind,
            tool_calls=calls,
            carriers=(turn.scope,) if turn else (),
        )
        if calls:
            self.last_asked = Asked(sender.name, index)
            self._asked.update((c.call_id, self.last_asked) for c in calls if c.call_id)
            _bound(self._asked, MAX_ASKED)

    def asked_for(self, call_id: str | None) -> Asked | None:
        """Say who asked for a tool call."""
        return self._asked.get(call_id or "", self.last_asked)

    def _carried_over(self, message: Any) -> bool:
        """Whether the opener of a nested chat only repeats what the outer chat said."""
        seen = hash(reading.message_text(message))
        scope = self.run.parent
        while scope is not None:
            outer = self._tracker.chat_of(scope)
            if outer is not None and seen in outer._texts:
                return True
            scope = scope.run.parent
        return False

    def done(self, result: Any) -> None:
        """End the run of a chat that returned."""
        self._close()
        # A reader who goes when AG2 has told of the end leaves nothing undone.
        left = self._left if self._reason else self._reader_left()
        reason = self._reason or self._inferred()
        outcome: Outcome = "limit" if reason.startswith("Maximum") else "completed"
        if left:
            outcome, reason = "abandoned", "The reader of the run stopped reading"
        self.run.finish(outcome, reason)

    def failed(self, error: BaseException) -> None:
        """End the run of a chat that raised."""
        self._close()
        self.run.finish(outcome_of(error), self._reason or type(error).__name__, error)

    def _close(self) -> None:
        self._tracker.forget(self)
        for turn in self._pending.values():
            turn.end()
        self._pending.clear()

    def _inferred(self) -> str:
        """Tell why a chat ended for which AG2 sends no TerminationEvent."""
        if not self._opened or self._initiator is None:
            return ""
        if self._turns is None or self.silent is self._initiator:
            return "No reply generated" if self.silent is not None else ""
        name = getattr(self._recipient, "name", "")
        counters = getattr(self._initiator, "_consecutive_auto_reply_counter", {})
        limit = getattr(self._recipient, "_max_consecutive_auto_reply", None)
        if isinstance(limit, int) and counters.get(self._recipient, 0) >= limit:
            return "Maximum number of consecutive auto-replies reached"
        return f"Termination message condition on agent '{name}' met"

    def _reader_left(self) -> bool:
        """Whether the iterator of a ``run_iter`` was left early; AG2 lets the chat run on."""
        stream = self._tracker.library.current_stream()
        controller = getattr(stream, "_step_controller", None)
        return bool(getattr(controller, "_terminated", False))


def outcome_of(error: BaseException) -> Outcome:
    """Say how a chat ended that raised."""
    if isinstance(error, GeneratorExit):
        return "abandoned"
    if isinstance(error, (asyncio.CancelledError, KeyboardInterrupt, SystemExit)):
        return "cancelled"
    return "error"


def _bound(kept: OrderedDict[Any, Any], size: int) -> None:
    while len(kept) > size:
        kept.popitem(last=False)
