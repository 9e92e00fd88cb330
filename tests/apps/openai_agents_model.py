"""A model for the OpenAI Agents SDK that says what it is told to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from agents import Model, ModelResponse, Usage
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)


def says(text: str) -> Any:
    part = ResponseOutputText(text=text, type="output_text", annotations=[], logprobs=[])
    return ResponseOutputMessage(
        id="m", type="message", role="assistant", status="completed", content=[part]
    )


def calls(name: str, arguments: str, call_id: str) -> Any:
    return ResponseFunctionToolCall(
        id=call_id, call_id=call_id, type="function_call", name=name, arguments=arguments
    )


class Scripted(Model):
    """Gives its answers one after the other; the last one again and again.

    The SDK's own ``agents.testing.ScriptedModel`` is younger than the oldest version we watch.
    """

    def __init__(self, *answers: Any, model: str = "scripted-1") -> None:
        self.model = model
        self.answers = list(answers)
        self.inputs: list[Any] = []

    def _next(self, given: Any) -> list[Any]:
        self.inputs.append(list(given) if isinstance(given, list) else given)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, list) else [answer]

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        await asyncio.sleep(0)
        given = kwargs["input"] if "input" in kwargs else args[1]
        output = self._next(given)
        usage = Usage(requests=1, input_tokens=7, output_tokens=3, total_tokens=10)
        return ModelResponse(output=output, usage=usage, response_id=None)

    async def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        await asyncio.sleep(0)
        given = kwargs["input"] if "input" in kwargs else args[1]
        response = Response(
            id="r",
            created_at=0,
            model=self.model,
            object="response",
            output=self._next(given),
            tool_choice="none",
            tools=[],
            parallel_tool_calls=False,
        )
        yield ResponseCompletedEvent(
            type="response.completed", response=response, sequence_number=0
        )


class Hanging(Scripted):
    """Never answers."""

    def __init__(self) -> None:
        super().__init__(says("never"))
        self.asked = asyncio.Event()

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        self.asked.set()
        await asyncio.sleep(60)
        raise AssertionError

    async def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        self.asked.set()
        await asyncio.sleep(60)
        yield None
