"""AutoGen's AgentChat and Magentic-One: what they print, and their messages as JSON."""

from mastwatch.formats.agentchat.console import ConsoleFormat
from mastwatch.formats.agentchat.messages import MessagesFormat

__all__ = ["ConsoleFormat", "MessagesFormat"]
