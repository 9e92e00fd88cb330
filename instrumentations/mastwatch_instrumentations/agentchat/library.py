"""AgentChat's classes that the hooks attach to."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from mastwatch.instrumentor import DidNotEnable

_GROUP = "autogen_agentchat.teams._group_chat"


@dataclass(frozen=True)
class Library:
    """What is looked up once per installation; private parts are None where a version lacks them.

    Attributes:
        team: ``BaseGroupChat``.
        agent: ``BaseChatAgent``.
        assistant: ``AssistantAgent``.
        client: ``ChatCompletionClient``.
        tool: ``BaseTool``.
        stream_tool: ``BaseStreamTool``.
        member: Base of managers and of what runs a participant in the runtime.
        manager: Base of the managers.
        events: Module of what a team's members send each other.
        tools: Module of ``trace_tool_span``, as the tools see it.
    """

    team: Any
    agent: Any
    assistant: Any
    client: Any
    tool: Any
    stream_tool: Any
    member: Any
    manager: Any
    events: Any
    tools: Any


def load() -> Library:
    """Import the classes.

    Raises:
        DidNotEnable: The public ones are not all there.
    """
    from autogen_agentchat.agents import AssistantAgent, BaseChatAgent
    from autogen_agentchat.teams import BaseGroupChat
    from autogen_core.models import ChatCompletionClient
    from autogen_core.tools import BaseTool

    if not hasattr(BaseGroupChat, "run_stream") or not hasattr(BaseChatAgent, "on_messages_stream"):
        raise DidNotEnable("AgentChat's teams and agents have other methods than we know")
    return Library(
        team=BaseGroupChat,
        agent=BaseChatAgent,
        assistant=AssistantAgent,
        client=ChatCompletionClient,
        tool=BaseTool,
        stream_tool=_part("autogen_core.tools", "BaseStreamTool"),
        member=_part(f"{_GROUP}._sequential_routed_agent", "SequentialRoutedAgent"),
        manager=_part(f"{_GROUP}._base_group_chat_manager", "BaseGroupChatManager"),
        events=_part(f"{_GROUP}._events"),
        tools=_part("autogen_core.tools._base"),
    )


def _part(module: str, name: str = "") -> Any:
    try:
        found = importlib.import_module(module)
    except ImportError:
        return None
    return getattr(found, name, None) if name else found
