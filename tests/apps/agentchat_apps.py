"""An offline ChatCompletionClient that says what it is told to: AgentChat itself has none."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from autogen_core import FunctionCall
from autogen_core.models import (
    ChatCompletionClient,
    CreateResult,
    LLMMessage,
    ModelInfo,
    RequestUsage,
)

INFO = ModelInfo(
    vision=False,
    function_calling=True,
    json_output=True,
    family="unknown",
    structured_output=False,
    multiple_system_messages=True,
)


HANGS = object()
"""In a script: no answer, until the cancellation token or the task is cancelled."""


def call(name: str, call_id: str = "c1", **arguments: Any) -> FunctionCall:
    return FunctionCall(id=call_id, name=name, arguments=json.dumps(arguments))


class Scripted(ChatCompletionClient):
    """Answers with the next line of its script: a text, tool calls, or an exception to raise."""

    component_type = "model"

    def __init__(self, *lines: Any, model: str = "scripted-1") -> None:
        self.model = model
        self.lines = list(lines)
        self.requests: list[list[LLMMessage]] = []

    async def create(self, messages: Sequence[LLMMessage], **more: Any) -> CreateResult:
        self.requests.append(list(messages))
        await asyncio.sleep(0)
        line = self.lines.pop(0)
        if line is HANGS:
            waiting = asyncio.ensure_future(asyncio.sleep(60))
            if token := more.get("cancellation_token"):
                token.link_future(waiting)
            await waiting
        if isinstance(line, BaseException):
            raise line
        if isinstance(line, CreateResult):
            return line
        calls = [line] if isinstance(line, FunctionCall) else line
        return CreateResult(
            finish_reason="stop" if isinstance(line, str) else "function_calls",
            content=calls,
            usage=RequestUsage(prompt_tokens=7, completion_tokens=3),
            cached=False,
        )

    async def create_stream(
        self, messages: Sequence[LLMMessage], **_: Any
    ) -> AsyncGenerator[str | CreateResult, None]:
        result = await self.create(messages)
        if isinstance(result.content, str):
            for word in result.content.split():
                yield word + " "
        yield result

    async def close(self) -> None: ...
    def actual_usage(self) -> RequestUsage:
        return RequestUsage(prompt_tokens=0, completion_tokens=0)

    def total_usage(self) -> RequestUsage:
        return self.actual_usage()

    def count_tokens(self, messages: Sequence[LLMMessage], **_: Any) -> int:
        return 0

    def remaining_tokens(self, messages: Sequence[LLMMessage], **_: Any) -> int:
        return 100

    @property
    def capabilities(self) -> ModelInfo:
        return INFO

    @property
    def model_info(self) -> ModelInfo:
        return INFO


def ledger(done: bool, progress: bool, speaker: str = "worker", say: str = "Look it up.") -> str:
    def entry(answer: object) -> dict[str, object]:
        return {"reason": "because of that", "answer": answer}

    return json.dumps(
        {
            "is_request_satisfied": entry(done),
            "is_in_loop": entry(False),
            "is_progress_being_made": entry(progress),
            "next_speaker": entry(speaker),
            "instruction_or_question": entry(say),
        }
    )


def plans() -> list[str]:
    """What MagenticOne's manager thinks when its first plan leads nowhere."""
    return [
        "The shop has opening hours.",
        "Ask the worker for the hours.",
        ledger(False, True),
        ledger(False, False),
        "The shop also has a sign at its door.",
        "Have the worker read the sign.",
        ledger(False, True, say="Read the sign at the door."),
        ledger(True, True),
        "The shop closes at six.",
    ]
