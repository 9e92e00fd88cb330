"""Two agents who write a travel tip, offline. ``app.py loop``: the first one goes in circles."""

import asyncio
import sys
from typing import Any

from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, LLMMetadata
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.tools import ToolSelection


class Scripted(FunctionCallingLLM):
    """A model that gives its answers in order: a text, or a tool with its arguments."""

    answers: list[Any]

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_function_calling_model=True, model_name="scripted")

    async def achat(self, messages: Any, **kwargs: Any) -> ChatResponse:
        answer = self.answers.pop(0)
        text, call = (answer, None) if isinstance(answer, str) else ("", answer)
        message = ChatMessage(role="assistant", content=text, additional_kwargs={"call": call})
        return ChatResponse(message=message, delta=text)

    async def astream_chat(self, messages: Any, **kwargs: Any) -> Any:
        async def chunks() -> Any:
            yield await self.achat(messages)

        return chunks()

    def chat(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    complete = stream_chat = stream_complete = acomplete = astream_complete = chat

    def _prepare_chat_with_tools(
        self, tools: Any, user_msg: Any = None, chat_history: Any = None, **kwargs: Any
    ) -> Any:
        return {"messages": chat_history}

    def get_tool_calls_from_response(self, response: Any, **kwargs: Any) -> list[ToolSelection]:
        call = response.message.additional_kwargs["call"]
        if call is None:
            return []
        name, arguments = call
        return [
            ToolSelection(
                tool_id=f"call-{len(self.answers)}", tool_name=name, tool_kwargs=arguments
            )
        ]


def weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"{city}: sunny, 21 degrees"


def museums(city: str) -> str:
    """List the museums of a city."""
    return f"{city}: Kunstmuseum, Beethoven-Haus"


async def main(loop: bool) -> None:
    research: list[Any] = [("weather", {"city": "Bonn"})] * (5 if loop else 1)
    research += [
        ("museums", {"city": "Bonn"}),
        ("handoff", {"to_agent": "Writer", "reason": "the facts are there"}),
    ]
    team = AgentWorkflow(
        agents=[
            FunctionAgent(
                name="Researcher",
                description="Finds facts.",
                system_prompt="Collect facts, then hand over.",
                llm=Scripted(answers=research),
                tools=[weather, museums],
            ),
            FunctionAgent(
                name="Writer",
                description="Writes tips.",
                system_prompt="Write a travel tip.",
                llm=Scripted(answers=["Go to Bonn: sun and the Beethoven-Haus."]),
            ),
        ],
        root_agent="Researcher",
    )
    print(await team.run(user_msg="A travel tip for Bonn, please."))


if __name__ == "__main__":
    asyncio.run(main("loop" in sys.argv[1:]))
