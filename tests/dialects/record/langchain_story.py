"""A planner with a clerk as its tool, on LangChain's ``create_agent``."""

from __future__ import annotations

from typing import Any

import shop
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

USAGE = {"input_tokens": 20, "output_tokens": 8, "total_tokens": 28}


class Scripted(FakeMessagesListChatModel):
    """Says what it is told to."""

    model_name: str = "scripted-1"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self


def asks(id: str, name: str, **arguments: str) -> AIMessage:
    call = {"name": name, "args": arguments, "id": id}
    return AIMessage("", tool_calls=[call], usage_metadata=USAGE)


def story() -> None:
    clerk = create_agent(
        Scripted(
            responses=[
                asks("call_2", "lookup_order", number="A-17"),
                asks("call_3", "check_stock", item="mug"),
            ]
        ),
        [tool(shop.lookup_order), tool(shop.check_stock)],
        system_prompt=shop.CLERK_PROMPT,
        name="clerk",
    )

    @tool
    def ask_clerk(request: str) -> str:
        """Ask the clerk."""
        try:
            return clerk.invoke({"messages": [("user", request)]})["messages"][-1].content
        except ValueError:
            return shop.FOUND

    planner = create_agent(
        Scripted(
            responses=[
                asks("call_1", "ask_clerk", request=shop.ASKED),
                AIMessage(shop.ANSWER, usage_metadata=USAGE),
            ]
        ),
        [ask_clerk],
        system_prompt=shop.PLANNER_PROMPT,
        name="planner",
    )
    planner.invoke(
        {"messages": [("user", shop.TASK)]}, {"configurable": {"thread_id": "order-a17"}}
    )
