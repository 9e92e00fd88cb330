"""What happens at each hooked method of AgentChat."""

from __future__ import annotations

import functools
import logging
from typing import Any
from weakref import WeakSet

from autogen_agentchat.messages import BaseChatMessage

from mastwatch_instrumentations._patch import (
    Hook,
    Patches,
    after,
    after_async,
    argument,
    around_async,
)
from mastwatch_instrumentations._streams import around_stream
from mastwatch_instrumentations.agentchat.brake import Brake
from mastwatch_instrumentations.agentchat.conversations import Conversation
from mastwatch_instrumentations.agentchat.frames import Listening, MemberFrame, RunFrame, TurnFrame
from mastwatch_instrumentations.agentchat.models import Models
from mastwatch_instrumentations.agentchat.outcomes import Stop
from mastwatch_instrumentations.agentchat.replaced import Replaced
from mastwatch_instrumentations.agentchat.tools import Tools
from mastwatch_instrumentations.agentchat.tracker import Tracker

_log = logging.getLogger("mastwatch")


class Hooks:
    """The hooks of one installation.

    Args:
        tracker: Knows the open runs.
        patches: Where wrapped methods are kept.
    """

    def __init__(self, tracker: Tracker, patches: Patches) -> None:
        self._tracker = tracker
        self._library = tracker.library
        self._patches = patches
        self._brake = Brake(tracker)
        self._models = Models(tracker)
        self._tools = Tools(tracker)
        self._replaced = Replaced()
        self._known: WeakSet[type] = WeakSet()
        self.status: dict[str, bool] = {}

    def install(self) -> None:
        """Patch the classes; what a version does not have is left out."""
        for owner, name, hook in self._sites():
            place = f"{getattr(owner, '__name__', 'none')}.{name}"
            self.status[place] = owner is not None and self._patches.wrap(owner, name, hook)
        library, replaced = self._library, self._replaced
        asked = around_async("agentchat.tool", self._tools.asked)
        self.status["AssistantAgent._execute_tool_call"] = replaced.static(
            library.assistant, "_execute_tool_call", asked
        )
        self.status["trace_tool_span"] = replaced.block(
            library.tools, "trace_tool_span", self._tools.traced
        )
        self._look_at_classes()
        missing = [place for place, in_place in self.status.items() if not in_place]
        if missing:
            _log.debug("mastwatch: this AgentChat has no %s; seeing less", ", ".join(missing))

    def undo(self) -> None:
        """Put back what is no method; the patches are undone by their owner."""
        self._replaced.undo()

    def _sites(self) -> list[tuple[Any, str, Hook]]:
        lib, where, ran = self._library, "agentchat.run", self._tools.ran
        return [
            (lib.team, "run_stream", around_stream(where, self._team)),
            (lib.team, "reset", after_async(where, self._forget)),
            (lib.team, "load_state", after_async(where, self._forget)),
            (lib.agent, "__init__", after("agentchat.classes", self._made)),
            (lib.agent, "run", around_async(where, self._agent)),
            (lib.agent, "run_stream", around_stream(where, self._agent)),
            (
                lib.member,
                "on_message_impl",
                self._brake.stopping(around_async("agentchat.member", self._member)),
            ),
            (lib.member, "publish_message", around_async("agentchat.message", self._published)),
            (lib.tool, "run_json", around_async("agentchat.tool", ran)),
            (lib.stream_tool, "run_json_stream", around_stream("agentchat.tool", ran)),
        ]

    # Agents and model clients of the app's own: wrapped as soon as they are seen

    def _look_at_classes(self) -> None:
        turn, model = "agentchat.turn", "agentchat.model"
        asks = self._brake.asking
        self._wrap_below(
            self._library.agent,
            ("on_messages", around_async(turn, self._turn)),
            ("on_messages_stream", around_stream(turn, self._turn)),
        )
        self._wrap_below(
            self._library.client,
            ("create", asks(around_async(model, self._models.begin))),
            ("create_stream", asks(around_stream(model, self._models.begin))),
        )

    def _wrap_below(self, base: type, *hooks: tuple[str, Hook]) -> None:
        waiting = [base]
        while waiting:
            kind = waiting.pop()
            waiting.extend(kind.__subclasses__())
            if kind in self._known:
                continue
            self._known.add(kind)
            for name, hook in hooks:
                own = vars(kind).get(name)
                if own is not None and not getattr(own, "__isabstractmethod__", False):
                    self._patches.wrap(kind, name, hook)

    def _made(self, agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any], _: Any) -> None:
        self._look_at_classes()

    # Runs

    def _team(self, team: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> RunFrame | None:
        self._look_at_classes()
        conversation = self._tracker.open_team(team, kwargs.get("task"))
        if conversation is None:
            return None
        return RunFrame(conversation, functools.partial(self._tracker.paused, team))

    def _agent(self, agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> RunFrame | None:
        self._look_at_classes()
        conversation = self._tracker.open_agent(agent, kwargs.get("task"))
        return None if conversation is None else RunFrame(conversation)

    def _forget(self, team: Any, args: tuple[Any, ...], kwargs: dict[str, Any], _: Any) -> None:
        self._tracker.forget(team)

    # Turns

    def _turn(
        self, agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> TurnFrame | Listening | None:
        tracker = self._tracker
        if tracker.emitter.suppressed():
            return None
        scope = tracker.emitter.current()
        around = tracker.turn_of(scope)
        if around is not None and around.agent is agent:
            return Listening(around)
        conversation = tracker.conversation_of(scope)
        alone = conversation is None
        if conversation is None:
            conversation = tracker.open_agent(agent, argument(args, kwargs, 0, "messages"))
        if conversation is None:
            return None
        return TurnFrame(tracker.open_turn(agent, conversation, None if alone else scope), alone)

    # A team's runtime

    def _member(
        self, member: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> MemberFrame | None:
        conversation = self._tracker.of_member(member)
        if conversation is None:
            return None
        message = argument(args, kwargs, 0, "message")
        agent = getattr(member, "_agent", None)
        if agent is not None and isinstance(message, self._library.events.GroupChatReset):
            conversation.emptied(agent.name)
        return MemberFrame(conversation)

    def _published(self, member: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        conversation = self._tracker.of_member(member)
        events = self._library.events
        if conversation is None or not isinstance(member, self._library.manager):
            return
        message = argument(args, kwargs, 0, "message")
        if isinstance(message, events.GroupChatMessage):
            self._said_by_manager(conversation, message.message)
        elif isinstance(message, events.GroupChatTermination):
            conversation.stop = Stop(message.message.content, message.message.source)

    def _said_by_manager(self, conversation: Conversation, message: Any) -> None:
        if isinstance(message, BaseChatMessage) and message.source == conversation.manager:
            conversation.managed(message)
