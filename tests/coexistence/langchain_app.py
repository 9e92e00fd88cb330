"""LangChain: an agent with a tool, the same in a loop, two agents in a graph, one under a tool.

And three side by side, in threads: in which order they speak is chance.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph


class Scripted(FakeMessagesListChatModel):
    """Says its lines one after the other."""

    def bind_tools(self, tools: Any, **options: Any) -> Scripted:
        return self


@tool
def search(query: str) -> str:
    """Look something up."""
    return f"Seven ferries leave {query} on weekdays."


def lines(*said: Any) -> Scripted:
    """A model; a line is a text, or the arguments of a tool call by the tool's name."""
    messages = []
    for number, line in enumerate(said):
        if isinstance(line, str):
            messages.append(AIMessage(line, id=f"m{number}-{id(said)}"))
        else:
            calls = [
                {"name": name, "args": arguments, "id": f"c{number}-{id(said)}"}
                for name, arguments in line.items()
            ]
            messages.append(AIMessage("", tool_calls=calls, id=f"m{number}-{id(said)}"))
    return Scripted(responses=messages)


def ask(app: Any, text: str) -> None:
    app.invoke({"messages": [("user", text)]}, config={"recursion_limit": 60})


def agent(native: bool) -> None:
    model = lines({"search": {"query": "Faro"}}, "Seven ferries leave Faro on weekdays.")
    ask(create_agent(model, [search], name="clerk"), "How many ferries leave Faro?")


def loop(native: bool) -> None:
    model = lines(*[{"search": {"query": "Faro"}}] * 5, "I cannot find it, sorry.")
    ask(create_agent(model, [search], name="clerk"), "How many ferries leave Faro?")


def team(native: bool) -> None:
    clerk = create_agent(
        lines({"search": {"query": "Olhao"}}, "Seven from Olhao."), [search], name="clerk"
    )
    poet = create_agent(lines("Seven ferries glide in the morning."), [], name="poet")
    graph = StateGraph(MessagesState)
    graph.add_node("clerk", clerk)
    graph.add_node("poet", poet)
    graph.add_edge(START, "clerk")
    graph.add_edge("clerk", "poet")
    graph.add_edge("poet", END)
    ask(graph.compile(name="team"), "Write about the ferries of Olhao.")


def nested(native: bool) -> None:
    clerk = create_agent(
        lines({"search": {"query": "Tavira"}}, "Seven from Tavira."), [search], name="clerk"
    )

    @tool
    def ask_clerk(question: str) -> str:
        """Ask the clerk."""
        state = clerk.invoke({"messages": [("user", question)]})
        return str(state["messages"][-1].content)

    planner = lines({"ask_clerk": {"question": "How many ferries?"}}, "The clerk says seven.")
    ask(create_agent(planner, [ask_clerk], name="planner"), "Plan my trip to Tavira.")


def beside(native: bool) -> None:
    everybody = threading.Barrier(3, timeout=60)

    @tool
    def meet(place: str) -> str:
        """Wait for the others: they are at work at the same time, however slow the machine."""
        everybody.wait()
        return f"Seven ferries leave {place} on weekdays."

    graph = StateGraph(MessagesState)
    for name in ("ann", "ben", "cleo"):
        said = ({"meet": {"place": "Lagos"}}, f"This is {name}, seven as well.")
        graph.add_node(name, create_agent(lines(*said), [meet], name=name))
        graph.add_edge(START, name)
        graph.add_edge(name, END)
    ask(graph.compile(name="crowd"), "How many ferries leave Lagos?")


SCENARIOS: dict[str, Callable[[bool], None]] = {
    "agent": agent,
    "loop": loop,
    "team": team,
    "nested": nested,
    "beside": beside,
}


def genai() -> None:
    from opentelemetry.instrumentation.genai.langchain import LangChainInstrumentor

    LangChainInstrumentor().instrument()


def openinference() -> None:
    from openinference.instrumentation.langchain import LangChainInstrumentor

    LangChainInstrumentor().instrument()


def openllmetry() -> None:
    from opentelemetry.instrumentation.langchain import LangchainInstrumentor

    LangchainInstrumentor().instrument()


PRODUCERS: dict[str, Callable[[], None]] = {
    "genai": genai,
    "openinference": openinference,
    "openllmetry": openllmetry,
}
