"""Offline LlamaIndex agents: a model that says what it is scripted to, agents, tools."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    LLMMetadata,
)
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.tools import ToolSelection


def ask(id: str, name: str, **arguments: Any) -> tuple[str, str, dict[str, Any]]:
    """What a model asks of a tool."""
    return id, name, arguments


class Scripted(FunctionCallingLLM):
    """Gives its answers in order: a text, a list of wishes for tools, an exception, or a coroutine
    function that is awaited.
    """

    functions: bool = True
    _answers: list[Any] = PrivateAttr(default_factory=list)
    _asked: list[Any] = PrivateAttr(default_factory=list)

    def __init__(self, *answers: Any, functions: bool = True) -> None:
        super().__init__(functions=functions)
        self._answers = list(answers)

    @property
    def asked(self) -> list[Any]:
        return self._asked

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_function_calling_model=self.functions, model_name="scripted")

    async def _next(self, messages: Sequence[ChatMessage]) -> ChatResponse:
        self._asked.append(list(messages))
        answer = self._answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        if callable(answer):
            answer = await answer()
        await asyncio.sleep(0)
        calls = answer if isinstance(answer, list) else []
        text = answer if isinstance(answer, str) else ""
        return ChatResponse(
            message=ChatMessage(role="assistant", content=text, additional_kwargs={"calls": calls}),
            delta=text,
            raw={"usage": {"prompt_tokens": 7, "completion_tokens": 3}},
        )

    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        return await self._next(messages)

    async def astream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> Any:
        async def chunks() -> Any:
            yield await self._next(messages)

        return chunks()

    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        return asyncio.run(self._next(messages))

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text=str(self._answers.pop(0)))

    async def acomplete(self, *args: Any, **kwargs: Any) -> CompletionResponse:
        return self.complete(*args)

    def stream_chat(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    stream_complete = astream_complete = stream_chat

    def _prepare_chat_with_tools(
        self, tools: Any, user_msg: Any = None, chat_history: Any = None, **kwargs: Any
    ) -> dict[str, Any]:
        return {"messages": list(chat_history or ())}

    def get_tool_calls_from_response(self, response: Any, **kwargs: Any) -> list[ToolSelection]:
        calls = response.message.additional_kwargs.get("calls", [])
        return [ToolSelection(tool_id=i, tool_name=n, tool_kwargs=a) for i, n, a in calls]


def population(city: str) -> str:
    """Look up how many people live in a city."""
    return f"{city}: 330000"


def broken(city: str) -> str:
    """Fail."""
    raise LookupError("no such city")


def agent(name: str, model: Scripted, *tools: Any, **more: Any) -> FunctionAgent:
    return FunctionAgent(
        name=name,
        description=f"A {name}.",
        system_prompt=f"You are the {name}.",
        llm=model,
        tools=list(tools),
        **more,
    )


def pair(research: Scripted, write: Scripted, *tools: Any, **more: Any) -> AgentWorkflow:
    """Two agents, of whom the first hands over to the second."""
    return AgentWorkflow(
        agents=[agent("researcher", research, *(tools or (population,))), agent("writer", write)],
        root_agent="researcher",
        **more,
    )


def healthy(**more: Any) -> AgentWorkflow:
    return pair(
        Scripted(
            [ask("c1", "population", city="Bonn")],
            [ask("c2", "handoff", to_agent="writer", reason="the fact is there")],
        ),
        Scripted("Bonn has 330000 inhabitants."),
        **more,
    )
