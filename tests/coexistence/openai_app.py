"""The OpenAI SDK by itself, and below a model of LangChain's; no network."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import httpx2
from langchain.agents import create_agent
from langchain_app import PRODUCERS as LANGCHAIN
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from openai import OpenAI

ROLES = {"human": "user", "ai": "assistant", "system": "system"}


def answering(numbers: Iterator[int]) -> OpenAI:
    """A client whose model counts its answers."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        text = f"This is answer number {next(numbers)} about ferries."
        return said({"role": "assistant", "content": text})

    return asking(answer)


def said(message: dict[str, Any]) -> httpx2.Response:
    """A model's response with one message."""
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    usage = {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}
    return httpx2.Response(
        200,
        json={
            "id": "r", "object": "chat.completion", "created": 1, "model": "gpt-x",
            "choices": [choice], "usage": usage,
        },
    )  # fmt: skip


def asking(answer: Callable[[httpx2.Request], httpx2.Response]) -> OpenAI:
    """A client without a network."""
    transport = httpx2.MockTransport(answer)
    return OpenAI(api_key="none", http_client=httpx2.Client(transport=transport))


class Sdk(BaseChatModel):
    """A chat model that asks the SDK, as langchain-openai does."""

    client: Any

    @property
    def _llm_type(self) -> str:
        return "sdk"

    def _generate(self, messages: Any, *_: Any, **options: Any) -> ChatResult:
        sent: Any = [{"role": ROLES[m.type], "content": m.content} for m in messages]
        said = self.client.chat.completions.create(model="gpt-x", messages=sent)
        message = AIMessage(said.choices[0].message.content)
        return ChatResult(generations=[ChatGeneration(message=message)])

    def bind_tools(self, tools: Any, **options: Any) -> Sdk:
        return self


def bare(native: bool) -> None:
    client = answering(count(1))
    messages: list[Any] = [{"role": "user", "content": "How many ferries leave today?"}]
    for question in ("And how many tomorrow?", None):
        said = client.chat.completions.create(model="gpt-x", messages=messages)
        messages.append({"role": "assistant", "content": said.choices[0].message.content})
        messages.append({"role": "user", "content": question})


def below(native: bool) -> None:
    agent = create_agent(Sdk(client=answering(count(1))), [], name="clerk")
    agent.invoke({"messages": [("user", "How many ferries leave today?")]})


def looped(native: bool) -> None:
    """A home-grown agent that asks for one tool again and again."""
    numbers = count(1)

    def answer(request: httpx2.Request) -> httpx2.Response:
        number = next(numbers)
        function = {"name": "look", "arguments": '{"order": "A-17"}'}
        call = {"id": f"c{number}", "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        if number == 5:
            message = {"role": "assistant", "content": "It cannot be found, I am sorry."}
        return said(message)

    client = asking(answer)
    messages: list[Any] = [{"role": "user", "content": "Where is my order A-17?"}]
    while True:
        done = client.chat.completions.create(model="gpt-x", messages=messages)
        message = done.choices[0].message
        if not message.tool_calls:
            return
        calls = [call.model_dump() for call in message.tool_calls]
        messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        messages.append({"role": "tool", "tool_call_id": calls[0]["id"], "content": "not found"})


SCENARIOS: dict[str, Callable[[bool], None]] = {"bare": bare, "below": below, "looped": looped}


def genai() -> None:
    from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor

    OpenAIInstrumentor().instrument()


def openinference() -> None:
    from openinference.instrumentation.openai import OpenAIInstrumentor

    OpenAIInstrumentor().instrument()


def openllmetry() -> None:
    from opentelemetry.instrumentation.openai import OpenAIInstrumentor

    OpenAIInstrumentor().instrument()


PRODUCERS: dict[str, Callable[[], None]] = {
    "genai": genai,
    "openinference": openinference,
    "openllmetry": openllmetry,
    **{f"{name}-langchain": switch_on for name, switch_on in LANGCHAIN.items()},
}
