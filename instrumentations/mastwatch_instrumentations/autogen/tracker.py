"""Where the hooks meet: which chat, turn and run a call of AG2 belongs to."""

from __future__ import annotations

import contextvars
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from mastwatch import forks
from mastwatch.events import Contract
from mastwatch.guard import guard
from mastwatch.spans.emit import Emitter, Run, Scope
from mastwatch_instrumentations.autogen import contract
from mastwatch_instrumentations.autogen.chats import Chat
from mastwatch_instrumentations.autogen.library import Library, traces_itself
from mastwatch_instrumentations.autogen.reading import message_text
from mastwatch_instrumentations.autogen.turns import Turn, quiet

FRAMEWORK = "autogen"
_T = TypeVar("_T")


class Tracker:
    """The open chats and turns of one installation.

    Args:
        emitter: Where everything goes.
        library: AG2's classes.
        traced_by: Who else makes spans for AG2 at the moment.
    """

    def __init__(
        self, emitter: Emitter, library: Library, traced_by: Callable[[], tuple[str, ...]]
    ) -> None:
        self.emitter = emitter
        self.library = library
        self._traced_by = traced_by
        # These three hold what is on the host's stack right now, and so need no bound.
        self._chats: dict[Run, Chat] = {}
        self._turns: dict[Scope, Turn] = {}
        self._working: dict[int, list[Turn]] = {}  # by id of the agent
        self._launched: WeakKeyDictionary[Any, contextvars.Context] = WeakKeyDictionary()
        self._lock = forks.lock()  # protects _working

    # Chats

    def chat_of(self, scope: Scope | None) -> Chat | None:
        """Return the chat a scope lies in; None for a run that is not ours."""
        return None if scope is None else self._chats.get(scope.run)

    def chat_here(self) -> Chat | None:
        """Return the chat that this code runs in."""
        return self.chat_of(self.emitter.current())

    def open_chat(
        self, initiator: Any, recipient: Any, message: object = None, turns: object = None
    ) -> Chat | None:
        """Start the run of a chat, or a branch of the run around it."""
        if not hasattr(recipient, "name"):
            return None  # a mistake of the host's, of which AG2 will tell it
        present = self.library.participants(initiator, recipient)
        start = functools.partial(self._start, initiator, recipient, present, message, turns)
        run = self._in_launching_context(start)
        if run is None:
            return None
        limit = turns if isinstance(turns, int) else None
        return self._keep(Chat(self, run, initiator, recipient, limit, present))

    def _start(
        self, initiator: Any, recipient: Any, present: list[Any], message: object, turns: object
    ) -> Run | None:
        if self.emitter.suppressed():
            return None
        prompts, agreed = {}, Contract()
        with guard("autogen.contract"):  # reads code and properties of the host's: worth no run
            prompts = contract.prompts(a for a in present if self.library.is_speaker(a))
            agreed = contract.read_contract(initiator, recipient, present, turns)
        group = self.library.is_manager(recipient)
        return self.emitter.start_run(
            recipient.name if group else f"{initiator.name}/{recipient.name}",
            framework=FRAMEWORK,
            task=None if callable(message) else message_text(message),
            prompts=prompts,
            contract=agreed,
            spans=not (traces_itself(present) or self._traced_by()),
        )

    def _keep(self, chat: Chat) -> Chat:
        self._chats[chat.run] = chat
        return chat

    def forget(self, chat: Chat) -> None:
        """Drop a chat that is over."""
        self._chats.pop(chat.run, None)

    # Threads that AG2 starts for run(), run_iter() and run_group_chat()

    def launched(self, stream: Any) -> None:
        """Remember the context in which a run was asked for; its thread starts with none."""
        self._launched[stream] = contextvars.copy_context()

    def _in_launching_context(self, start: Callable[[], _T]) -> _T:
        if self.emitter.current() is not None:
            return start()
        try:
            context = self._launched.get(self.library.current_stream())
        except TypeError:  # a stream of the app's own, of which there can be no weak reference
            context = None
        return start() if context is None else context.copy().run(start)

    # Turns

    def open_turn(self, agent: Any, messages: Any, sender: Any) -> Turn | Chat | None:
        """Open the frame of a ``generate_reply``; None where it is no turn of its own."""
        history = messages or getattr(agent, "_oai_messages", {}).get(sender)
        scope = self.emitter.current()
        if quiet():
            return Turn(self, None, scope, agent, sender, history=history, hushed=True)
        if self.emitter.suppressed():
            return None
        chat = self.chat_of(scope)
        in_chat = chat is not None and scope is chat.run and not chat.borrowed
        if not self.library.is_speaker(agent):
            return self._open_group(agent, history, sender, chat if in_chat else None)
        if chat is not None and in_chat:
            return self._turn_in(chat, agent, history, sender)
        outer = self.turn_here(scope)
        if outer is not None and outer.agent is agent:
            return None  # the agent asks its other reply functions: the same turn
        return self._turn_alone(scope, agent, history, sender)

    def _open_group(self, agent: Any, history: Any, sender: Any, chat: Chat | None) -> Chat | None:
        """Open the chat that a manager runs when it is asked to reply; None if it is this one."""
        if not self.library.is_manager(agent):
            return None
        if chat is None:
            return self.open_chat(sender or agent, agent, _last_text(history))
        if chat.is_between(agent):
            return None
        # A member of another group chat: those around it are no part of what it runs.
        return self.open_chat(agent, agent, _last_text(history))

    def _turn_in(self, chat: Chat, agent: Any, history: Any, sender: Any) -> Turn:
        chat.drop_pending(agent)
        # An addressee of another make has no method that would tell us of the message.
        returned = sender is not None and not isinstance(sender, self.library.agent)
        scope = chat.run.turn(agent.name)
        return Turn(self, chat, scope, agent, sender, history=history, returned=returned)

    def _turn_alone(self, scope: Scope | None, agent: Any, history: Any, sender: Any) -> Turn:
        """Open a turn whose reply goes back to the caller: a step of the run around, or a run."""
        own = scope is None or scope is not scope.run
        run = self._small_run(agent, history) if scope is None or own else scope.run
        chat = self._chats.get(run)
        if chat is None:
            chat = self._keep(Chat(self, run, sender, agent))
            chat.borrowed = not own
        scope = run.turn(agent.name)
        return Turn(self, chat, scope, agent, sender, history=history, returned=True, own=own)

    def _small_run(self, agent: Any, history: Any) -> Run:
        return self.emitter.start_run(
            agent.name,
            framework=FRAMEWORK,
            task=_last_text(history),
            prompts=contract.prompts([agent]),
            spans=not (traces_itself([agent]) or self._traced_by()),
        )

    def enter(self, turn: Turn) -> None:
        """Make a turn findable by its agent while it works."""
        if turn.scope is not None and not turn.hushed:
            self._turns[turn.scope] = turn
        with self._lock:
            self._working.setdefault(id(turn.agent), []).append(turn)

    def leave(self, turn: Turn) -> None:
        """Forget a turn that has come to its end."""
        if turn.scope is not None and not turn.hushed:
            self._turns.pop(turn.scope, None)
        with self._lock:
            turns = self._working.get(id(turn.agent), [])
            if turn in turns:
                turns.remove(turn)
            if not turns:
                self._working.pop(id(turn.agent), None)

    def turn_here(self, scope: Scope | None) -> Turn | None:
        """Return the turn whose scope this is."""
        return None if scope is None else self._turns.get(scope)

    def place_of(
        self, agent: Any, messages: Sequence[Mapping[str, Any]] = ()
    ) -> tuple[Scope | None, Turn | None]:
        """Return the scope and turn that a call of an agent's belongs to.

        AG2 runs the model calls of async chats in a pool, where no context arrives: there it is
        the turn the agent is in. An agent that works in several chats at once is told apart by
        the message it answers.
        """
        scope = self.emitter.current()
        if scope is not None:
            return scope, self._turns.get(scope)
        turns = self._at_work(agent)
        if len(turns) > 1 and messages:
            last = messages[-1]
            same = [turn for turn in turns if turn.last is last]
            # A hook that copies the history leaves only likeness to go by.
            turns = same or [turn for turn in turns if turn.last == last] or turns
        return (turns[-1].scope, turns[-1]) if turns else (None, None)

    def _at_work(self, agent: Any) -> list[Turn]:
        with self._lock:
            if not isinstance(agent, str):
                return list(self._working.get(id(agent), ()))
            # Some of AG2's agents give their client only their name.
            working = [turn for turns in self._working.values() for turn in turns]
        return [turn for turn in working if turn.agent.name == agent]


def _last_text(history: Any) -> str | None:
    return message_text(history[-1]) if isinstance(history, list) and history else None
