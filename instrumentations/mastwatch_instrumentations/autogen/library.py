"""The parts of the imported AG2 that the hooks need, found once at installation."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from mastwatch.instrumentor import DidNotEnable
from mastwatch_instrumentations.autogen.reading import SELECTORS, TOOL_EXECUTORS

_ESSENTIAL = (
    "initiate_chat",
    "a_initiate_chat",
    "generate_reply",
    "a_generate_reply",
    "_process_received_message",
)
_TRACED = ("initiate_chat", "a_initiate_chat", "generate_reply", "execute_function")


@dataclass(frozen=True, slots=True)
class Library:
    """AG2's classes. The optional ones are None where this version does not have them."""

    agent: type
    manager: type
    group: type
    wrapper: type | None
    stream: Any
    responses: tuple[type, ...]
    termination: type | None
    nobody: type[Exception] | None

    def is_manager(self, agent: object) -> bool:
        """Whether an agent runs a group chat."""
        return isinstance(agent, self.manager)

    def is_speaker(self, agent: object) -> bool:
        """Whether an agent's replies are utterances: not a manager, not a pattern's executor."""
        return not self.is_manager(agent) and getattr(agent, "name", "") not in TOOL_EXECUTORS

    def is_selection(self, initiator: Any, recipient: Any) -> bool:
        """Whether a chat is the hidden one in which a model picks the next speaker."""
        return (initiator.name, getattr(recipient, "name", "")) == SELECTORS

    def is_echo(self, sender: Any, recipient: Any) -> bool:
        """Whether a message is a manager's forwarding to its members, introductions included."""
        if not self.is_manager(sender):
            return False
        return any(member is recipient for member in sender.groupchat.agents)

    def participants(self, initiator: Any, recipient: Any) -> list[Any]:
        """Everyone who can speak in a chat, managers included, once each."""
        found: dict[int, Any] = {}
        for agent in (initiator, recipient):
            members = agent.groupchat.agents if self.is_manager(agent) else ()
            found.update((id(a), a) for a in (agent, *members) if a is not None)
        return list(found.values())

    def current_stream(self) -> Any:
        """Return the stream AG2 writes its events to here."""
        return self.stream.get_default() if self.stream is not None else None


def load() -> Library:
    """Look the classes up.

    Raises:
        DidNotEnable: What the hooks cannot do without is missing.
    """
    agent = _find("autogen.agentchat.conversable_agent", "ConversableAgent")
    manager = _find("autogen.agentchat.groupchat", "GroupChatManager")
    group = _find("autogen.agentchat.groupchat", "GroupChat")
    if agent is None or manager is None or group is None:
        raise DidNotEnable("this autogen has no ConversableAgent, GroupChat or GroupChatManager")
    missing = [name for name in _ESSENTIAL if not callable(getattr(agent, name, None))]
    if missing:
        raise DidNotEnable(f"autogen's ConversableAgent has no {', '.join(missing)}")
    names = ("RunResponse", "AsyncRunResponse", "RunIterResponse", "AsyncRunIterResponse")
    responses = (_find("autogen.io.run_response", name) for name in names)
    return Library(
        agent=agent,
        manager=manager,
        group=group,
        wrapper=_find("autogen.oai.client", "OpenAIWrapper"),
        stream=_find("autogen.io.base", "IOStream"),
        responses=tuple(found for found in responses if found is not None),
        termination=_find("autogen.events.agent_events", "TerminationEvent"),
        nobody=_find("autogen.exception_utils", "NoEligibleSpeakerError"),
    )


def _find(module: str, name: str) -> Any:
    try:
        return getattr(importlib.import_module(module), name, None)
    except ImportError:
        return None


def traces_itself(agents: Iterable[Any]) -> bool:
    """Whether AG2's own tracing makes the spans here: it is switched on agent by agent."""
    return any(
        hasattr(vars(agent).get(name), "__otel_wrapped__") for agent in agents for name in _TRACED
    )
