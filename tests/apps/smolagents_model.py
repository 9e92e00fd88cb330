"""A model for smolagents that says what it is told to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from smolagents.models import (
    ChatMessage,
    ChatMessageStreamDelta,
    ChatMessageToolCall,
    ChatMessageToolCallFunction,
    ChatMessageToolCallStreamDelta,
    MessageRole,
    Model,
)
from smolagents.monitoring import TokenUsage


def asks(*calls: tuple[str, Any, str], text: str = "") -> ChatMessage:
    """A message that calls tools: ``(name, arguments, id)``."""
    made = [
        ChatMessageToolCall(
            function=ChatMessageToolCallFunction(name=name, arguments=arguments),
            id=call_id,
            type="function",
        )
        for name, arguments, call_id in calls
    ]
    return ChatMessage(role=MessageRole.ASSISTANT, content=text, tool_calls=made)


def answers(text: str, call_id: str = "end") -> ChatMessage:
    return asks(("final_answer", {"answer": text}, call_id))


def _written(function: ChatMessageToolCallFunction) -> ChatMessageToolCallFunction:
    """As a stream brings it: pieces of JSON."""
    return ChatMessageToolCallFunction(name=function.name, arguments=json.dumps(function.arguments))


class Scripted(Model):
    """Gives its answers one after the other; the last one again and again."""

    def __init__(self, *script: Any) -> None:
        super().__init__(model_id="scripted-1")
        self.script = list(script)
        self.requests: list[Any] = []

    def _next(self, messages: Any) -> ChatMessage:
        self.requests.append(list(messages))
        said = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(said, BaseException):
            raise said
        if isinstance(said, ChatMessage):
            content, calls = said.content, said.tool_calls
        else:
            content, calls = said, None
        usage = TokenUsage(input_tokens=7, output_tokens=3)
        return ChatMessage(
            role=MessageRole.ASSISTANT, content=content, tool_calls=calls, token_usage=usage
        )

    def generate(self, messages: Any, **_: Any) -> ChatMessage:
        return self._next(messages)

    def generate_stream(self, messages: Any, **_: Any) -> Iterator[ChatMessageStreamDelta]:
        said = self._next(messages)
        text = str(said.content or "")
        yield ChatMessageStreamDelta(content=text[:5])
        calls = [
            ChatMessageToolCallStreamDelta(
                index=index, id=call.id, type=call.type, function=_written(call.function)
            )
            for index, call in enumerate(said.tool_calls or ())
        ]
        yield ChatMessageStreamDelta(
            content=text[5:], tool_calls=calls or None, token_usage=said.token_usage
        )
