"""What of a request's messages tells a conversation from others: digests, no text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mastwatch.events import RequestMessage, ToolRequest

_NO_DIGITS = str.maketrans("", "", "0123456789")


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryMessage(RequestMessage):
    """A message of a request, with what ties it to others.

    Attributes:
        tool_calls: The tools it asks for.
        call_id: Of a ``tool`` message: the call it answers.
        failed: Of a ``tool`` message: it says that the call went wrong, where the source knows.
    """

    tool_calls: tuple[ToolRequest, ...] = ()
    call_id: str | None = None
    failed: bool = False


def history(request: Sequence[RequestMessage]) -> list[HistoryMessage]:
    """Take the messages of a request without its system prompts."""
    return [
        message
        if isinstance(message, HistoryMessage)
        else HistoryMessage(role=message.role, content=message.content, name=message.name)
        for message in request
        if message.role != "system"
    ]


def snapshot(request: Sequence[RequestMessage]) -> tuple[RequestMessage, ...]:
    """Take the messages of a request as a model call's Event holds them."""
    return tuple(
        RequestMessage(role=message.role, content=message.content, name=message.name)
        for message in request
    )


def system_prompt(request: Sequence[RequestMessage]) -> tuple[str, str]:
    """Join the texts of the system prompts; and the name one of them bears."""
    prompts = [message for message in request if message.role == "system"]
    text = "\n".join(message.content for message in prompts if message.content)
    return text, next((message.name for message in prompts if message.name), "")


def identity(prompt: str) -> int:
    """Digest of a system prompt, digits left out: one that tells the time stays the same."""
    return hash(prompt.translate(_NO_DIGITS)) if prompt else 0


def step(before: int, message: HistoryMessage) -> int | None:
    """Digest of a history from that of all before its last message; None if that is withheld.

    Who is ``user`` and who ``assistant`` depends on whose request it is, where several agents share
    a transcript: both just speak. ``hash()`` is kept by a ``str`` itself, so that a history whose
    texts are the same objects as the last time costs next to nothing; it is salted, but these
    values never leave the process.
    """
    if message.content is None and not message.tool_calls:
        return None
    text = (message.content or "").strip()
    asked = tuple((call.name, call.call_id) for call in message.tool_calls)
    return hash((before, message.role == "tool", message.call_id, text, asked))


def digests(before: int, messages: Sequence[HistoryMessage]) -> list[int]:
    """Digests of a history after each of its messages, up to the first that is withheld."""
    made: list[int] = []
    for message in messages:
        after = step(before, message)
        if after is None:
            break
        made.append(after)
        before = after
    return made
