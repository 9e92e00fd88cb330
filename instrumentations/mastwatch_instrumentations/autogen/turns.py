"""The turns that agents take in a chat, and the calls in which nothing is said."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from mastwatch.events import MessageKind
from mastwatch.spans.emit import Scope
from mastwatch_instrumentations.autogen import reading

if TYPE_CHECKING:
    from mastwatch_instrumentations.autogen.chats import Chat
    from mastwatch_instrumentations.autogen.tracker import Tracker

_quiet: ContextVar[bool] = ContextVar("mastwatch_autogen_quiet", default=False)


def quiet() -> bool:
    """Whether we are where AG2 talks to itself: speaker selection, the replay of an old chat."""
    return _quiet.get()


class Quiet:
    """The frame of a call in which nothing is an utterance."""

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Hush everything in the block."""
        token = _quiet.set(True)
        try:
            yield
        finally:
            _quiet.reset(token)

    def done(self, result: Any) -> None:
        """Nothing to record."""

    def failed(self, error: BaseException) -> None:
        """Nothing to record."""


class Turn:
    """The frame of one ``generate_reply``: an agent's turn.

    Where the reply is sent as a message, the turn's span waits for it: what is uttered is the text
    after the send hooks. Where it only goes back to the caller it is uttered on return.

    Args:
        chat: The chat it happens in.
        scope: Its span, or the scope around it if ``hushed``.
        addressee: Who the reply goes to.
        history: The messages it replies to.
        returned: The reply goes back to the caller and is no message of the chat.
        own: The chat was opened for this call alone.
        hushed: No utterance at all: the turns of speaker selection.
    """

    def __init__(
        self,
        tracker: Tracker,
        chat: Chat | None,
        scope: Scope | None,
        agent: Any,
        addressee: Any,
        *,
        history: Any = None,
        returned: bool = False,
        own: bool = False,
        hushed: bool = False,
    ) -> None:
        self.chat = chat
        self.scope = scope
        self.agent = agent
        self.hushed = hushed
        self.model_called = False
        self.spoken = True  # whether a model, a person or a configured text stands behind the reply
        self.kind: MessageKind = "reply"
        self._tracker = tracker
        self._addressee = addressee
        self._returned = returned
        self._own = own
        self._over: float | None = None
        self.last: object = _last(history)

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Make it the current scope, and findable for calls that lose their context."""
        self._tracker.enter(self)
        try:
            if self.hushed or self.scope is None:
                yield
            else:
                with self.scope.attached():
                    yield
        finally:
            self.last = None
            self._tracker.leave(self)

    def done(self, result: Any) -> None:
        """Record the reply."""
        chat = self.chat
        if self.hushed or chat is None:
            return
        self._over = time.time()
        if result is None:
            chat.silent = self.agent
        handing_over = not self.model_called and reading.is_transfer_note(result)
        if handing_over:
            chat.handing_over = self.agent.name
        self.spoken = not (result is None or handing_over or reading.only_tool_results(result))
        if self.spoken:
            self.kind = reading.reply_kind(self.agent, result, self.model_called)
        if result is not None and not self._returned:
            chat.await_message(self)
            return
        if self.spoken:
            chat.say(result, self.agent, self._addressee, self.kind, self)
        self.end()
        if self._own:
            chat.done(result)
        elif self._returned and chat.borrowed:
            self._tracker.forget(chat)

    def failed(self, error: BaseException) -> None:
        """Record that no reply came."""
        if self.hushed or self.chat is None or self.scope is None:
            return
        self.scope.end(error)
        if self._own:
            self.chat.failed(error)
        elif self.chat.borrowed:
            self._tracker.forget(self.chat)

    def end(self) -> None:
        """End the span, at the time when the agent's work was over."""
        if self.scope is not None and not self.hushed:
            self.scope.end(at=self._over)


def _last(history: Any) -> object:
    return history[-1] if isinstance(history, list) and history else None
