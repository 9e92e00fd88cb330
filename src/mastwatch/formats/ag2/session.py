"""Chats out of AG2's runtime log: which messages belong together, and which are told twice."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from mastwatch.events import MessageKind
from mastwatch.formats import fields
from mastwatch.formats.ag2.dialogue import Conversations, Said
from mastwatch.formats.ag2.dump import said

_SELECTORS = frozenset({"checking_agent", "speaker_selection_agent"})
"""Two hidden agents that choose the next speaker of a group."""
_EVENTS = """
    SELECT id, event_name, source_id, source_name, json_state, timestamp FROM events
    WHERE event_name IN ('received_message', 'reply_func_executed') ORDER BY id
"""
_MAX_PROBLEMS = 100


@dataclass(slots=True)
class Chat:
    """One chat of a session, nested ones included.

    Attributes:
        session: The logger's id of the session.
        number: Which chat of the session, from 1.
        began: When, as the database has it.
        until: When the next one began; None for the last.
        said: Its messages and results of tools.
        problems: What could not be read, by the row it would have been.
    """

    session: str
    number: int
    began: str
    until: str | None = None
    said: list[Said | None] = field(default_factory=list)
    problems: list[tuple[int, str]] = field(default_factory=list)


class _Event(NamedTuple):
    id: int
    name: str
    source_id: int
    agent: str
    state: str
    at: str


def chats(connection: sqlite3.Connection) -> Iterator[Chat]:
    """All chats, one at a time, in the order they began."""
    sessions = _Sessions(connection)
    reading: _Reading | None = None
    numbers: dict[str, int] = {}
    for row in connection.execute(_EVENTS):
        event = _Event(*row)
        session = sessions.of(event)
        state = _state(event.state)
        if reading is None or session != reading.session or reading.starts_anew(event, state):
            if reading is not None and reading.chat.said:
                reading.chat.until = event.at if session == reading.session else None
                yield reading.chat
            numbers[session] = numbers.get(session, 0) + 1
            reading = _Reading(session, numbers[session], event.at, sessions.managers)
        reading.take(event, state)
    if reading is not None and reading.chat.said:
        yield reading.chat


class _Sessions:
    """Which session an agent belongs to; ids of agents come again in later processes."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._of: dict[int, list[tuple[str, str]]] = {}
        self.managers: set[str] = set()
        self._last = ""
        query = "SELECT agent_id, session_id, name, class, timestamp FROM agents ORDER BY id"
        for agent_id, session, name, kind, at in connection.execute(query):
            self._of.setdefault(agent_id, []).append((str(at), str(session)))
            if "GroupChatManager" in str(kind):
                self.managers.add(str(name))

    def of(self, event: _Event) -> str:
        known = self._of.get(event.source_id, [])
        before = [session for at, session in known if at <= event.at]
        self._last = (before or [session for _, session in known] or [self._last])[-1]
        return self._last


class _Reading:
    """A chat while it is read."""

    def __init__(self, session: str, number: int, began: str, managers: set[str]) -> None:
        self.session = session
        self.chat = Chat(session, number, began)
        self._managers = managers
        self._conversations = Conversations()
        self._asked: dict[str, set[str]] = {}  # who is to answer, and whom
        self._answer: dict[str, bool] = {}  # who went through its reply functions, and found one

    def starts_anew(self, event: _Event, state: Mapping[str, object]) -> bool:
        """Whether a message begins another chat: nobody asked for it, nobody is about to answer."""
        sender = str(state.get("sender") or "")
        return (
            event.name == "received_message"
            and bool(self.chat.said)
            and self._is_utterance(event, state)
            and not self._answers(sender, event.agent)
            and not self._answer
        )

    def _answers(self, sender: str, recipient: str) -> bool:
        return sender in self._answer and recipient in self._asked.get(sender, ())

    def _is_utterance(self, event: _Event, state: Mapping[str, object]) -> bool:
        """Not a manager's re-broadcast, and nothing of the choice of the next speaker."""
        sender, message = str(state.get("sender") or ""), state.get("message")
        if not _SELECTORS.isdisjoint((sender, event.agent)):
            return False
        if sender not in self._managers:
            return True
        name = message.get("name") if isinstance(message, dict) else None
        last = self.chat.said[-1] if self.chat.said else None
        told = message.get("content") if isinstance(message, dict) else message
        return name in (None, sender) and (last is None or last.text != told)

    def take(self, event: _Event, state: Mapping[str, object]) -> None:
        """Take in one event."""
        if event.name == "reply_func_executed":
            if event.agent not in _SELECTORS:
                self._answer[event.agent] = bool(state.get("final"))
                if state.get("final") and state.get("reply") is None:
                    del self._answer[event.agent]  # the chat ends here
            return
        sender = str(state.get("sender") or "")
        if self._is_utterance(event, state):
            self._message(event, state, sender)
        self._asked.setdefault(event.agent, set()).add(sender)

    def _message(self, event: _Event, state: Mapping[str, object], sender: str) -> None:
        kind: MessageKind | None = None
        if self._answers(sender, event.agent):
            kind = None if self._answer.pop(sender) else "auto_reply"
        elif self._answer:
            self._conversations.begin()
        branch = self._conversations.of(sender, event.agent)
        at = fields.moment(event.at)
        for one in self._read(state.get("message"), sender):
            whole = one and replace(
                one, agent=sender, to=event.agent, at=at, branch=branch, kind=one.kind or kind
            )
            self.chat.said.append(whole)

    def _read(self, message: object, sender: str) -> list[Said] | list[None]:
        if isinstance(message, str):
            return [Said(agent=sender, text=message)]
        try:
            if not isinstance(message, dict):
                raise fields.Malformed(f"the message is {fields.kind(message)}, not an object")
            return said(message)
        except (fields.Malformed, RecursionError) as error:
            if len(self.chat.problems) < _MAX_PROBLEMS:
                self.chat.problems.append((len(self.chat.said), f"{error}; skipped"))
            return [None]


def _state(text: str) -> Mapping[str, object]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError, TypeError):
        return {}
    return value if isinstance(value, dict) else {}
