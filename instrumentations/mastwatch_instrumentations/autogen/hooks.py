"""What happens at each patched method of AG2."""

from __future__ import annotations

import logging
from collections.abc import Coroutine
from typing import Any

from mastwatch.guard import guard
from mastwatch.spans.emit import Scope
from mastwatch_instrumentations._patch import (
    Call,
    Frame,
    Hook,
    Instead,
    Patches,
    after,
    after_async,
    argument,
    around,
    around_async,
)
from mastwatch_instrumentations.autogen.brake import Brake
from mastwatch_instrumentations.autogen.calls import Models, Question, Tools
from mastwatch_instrumentations.autogen.reading import TOOL_EXECUTORS
from mastwatch_instrumentations.autogen.tracker import Tracker
from mastwatch_instrumentations.autogen.turns import Quiet, quiet

_log = logging.getLogger("mastwatch")


class Hooks:
    """The hooks of one installation."""

    def __init__(self, tracker: Tracker) -> None:
        self._tracker = tracker
        self._library = tracker.library
        self._models = Models(tracker)
        self._tools = Tools(tracker)
        self._brake = Brake(tracker)
        self.status: dict[str, bool] = {}

    def install(self, patches: Patches) -> None:
        """Patch the classes; what a version does not have is left out."""
        library = self._library
        for owner, name, hook in self._sites():
            if owner is not None:
                self.status[f"{owner.__name__}.{name}"] = patches.wrap(owner, name, hook)
        for response in library.responses:
            patches.wrap(response, "__init__", after("autogen.launch", self._launched))
        missing = [name for name, in_place in self.status.items() if not in_place]
        if missing:
            _log.debug("mastwatch: this autogen has no %s; seeing less", ", ".join(missing))

    def _sites(self) -> list[tuple[type | None, str, Hook]]:
        agent, manager = self._library.agent, self._library.manager
        group = self._library.group
        replay = "autogen.resume"
        return [
            (agent, "initiate_chat", around("autogen.chat", self._chat)),
            (agent, "a_initiate_chat", around_async("autogen.chat", self._chat)),
            (agent, "generate_reply", around("autogen.turn", self._turn)),
            (agent, "a_generate_reply", around_async("autogen.turn", self._turn)),
            (agent, "_process_received_message", after("autogen.message", self._message)),
            (agent, "execute_function", around("autogen.tool", self._tools.execute)),
            (agent, "a_execute_function", around_async("autogen.tool", self._tools.execute)),
            (agent, "_run_async_in_thread", self._carry),
            (
                agent,
                "_generate_oai_reply_from_client",
                self._brake.nudged(around("autogen.model", self._models.reply)),
            ),
            (self._library.wrapper, "create", around("autogen.model", self._models.create)),
            (agent, "get_human_input", around("autogen.human", self._human)),
            (agent, "a_get_human_input", around_async("autogen.human", self._human)),
            (agent, "clear_history", around("autogen.clear", self._clear)),
            (
                group,
                "select_speaker",
                self._brake.unless_halted(after("autogen.speaker", self._selected)),
            ),
            (
                group,
                "a_select_speaker",
                self._brake.unless_halted(after_async("autogen.speaker", self._selected)),
            ),
            (manager, "resume", around(replay, lambda *_: Quiet())),
            (manager, "a_resume", around_async(replay, lambda *_: Quiet())),
            # The constructor, not the streams' ``send``: apps bring their own streams.
            (self._library.termination, "__init__", after("autogen.end", self._terminated)),
        ]

    # Chats, turns, messages

    def _chat(self, agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Frame | None:
        recipient = argument(args, kwargs, 0, "recipient")
        if quiet() or self._library.is_selection(agent, recipient):
            return Quiet()
        message = argument(args, kwargs, 7, "message")
        return self._tracker.open_chat(
            agent, recipient, message, argument(args, kwargs, 4, "max_turns")
        )

    def _turn(
        self, agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Frame | Instead | None:
        if self._brake.stops(agent):
            return Instead(None)  # an agent that gives no reply is how AG2's chats end
        messages = argument(args, kwargs, 0, "messages")
        return self._tracker.open_turn(agent, messages, argument(args, kwargs, 1, "sender"))

    def _message(
        self, agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
    ) -> None:
        if quiet():
            return
        scope = self._tracker.emitter.current()
        chat = self._tracker.chat_of(scope)
        sender = argument(args, kwargs, 1, "sender")
        if chat is None or sender is None or self._library.is_echo(sender, agent):
            return
        # What an agent tells itself and its private helpers in the middle of a turn is no part of
        # the chat; the helpers' replies are seen as branches.
        to_itself = sender is agent and scope is not chat.run
        if not to_itself and chat.has(sender) and chat.has(agent):
            chat.received(argument(args, kwargs, 0, "message"), sender, agent)

    # Threads

    def _carry(self, call: Call, agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Take the scope along to the thread in which a sync chat runs an async tool."""
        with guard("autogen.carry"):
            scope = self._tracker.emitter.current()
            if scope is not None and len(args) == 1:
                args = (_carried(scope, args[0]),)
        return call(*args, **kwargs)

    def _launched(
        self, response: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
    ) -> None:
        stream = getattr(response, "iostream", None)
        if stream is not None and not self._tracker.emitter.suppressed():
            self._tracker.launched(stream)

    # People, histories, speakers, ends

    def _human(self, agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Frame | None:
        chat = None if quiet() else self._tracker.chat_here()
        return None if chat is None else Question(chat.run, agent.name)

    def _clear(self, agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        chat = None if quiet() else self._tracker.chat_here()
        # Every chat clears its histories before the first word; only later it is a loss. What
        # an agent does with the helpers it keeps for itself is its own business.
        if chat is None or not chat.opened or not chat.has(agent):
            return
        if any(agent._oai_messages.values()):
            chat.run.history_cleared(agent.name)

    def _selected(
        self, group: Any, args: tuple[Any, ...], kwargs: dict[str, Any], chosen: Any
    ) -> None:
        chat = None if quiet() else self._tracker.chat_here()
        if chat is None:
            return
        last = argument(args, kwargs, 0, "last_speaker")
        source, chat.handing_over = chat.handing_over, ""
        if not source and getattr(last, "name", "") in TOOL_EXECUTORS and chat.last_asked:
            source = chat.last_asked.agent  # its tool said who goes on
        target = getattr(chosen, "name", "")
        if source and target and target != source and target not in TOOL_EXECUTORS:
            chat.run.handed_off(source, target)

    def _terminated(
        self, event: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
    ) -> None:
        chat = None if quiet() else self._tracker.chat_here()
        if chat is not None:
            chat.ending(str(kwargs.get("termination_reason") or ""))


async def _carried(scope: Scope, work: Coroutine[Any, Any, Any]) -> Any:
    with scope.attached():
        return await work
