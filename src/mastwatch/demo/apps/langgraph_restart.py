"""A supervisor that forgets everything in the middle of its work and starts over.

To keep the context small, ``tidy`` trims the history before each of the supervisor's turns. It
keeps the newest messages that start on a human one; but the only human message is the task, at the
very top. Once the history is too long nothing is left but the task, and the supervisor begins
again.
"""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    trim_messages,
)
from langchain_core.tools import tool
from langgraph.errors import GraphRecursionError
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command

from mastwatch.demo.langchain_model import ScriptedChat
from mastwatch.demo.models import Call, work

TASK = "Write a one-page brief: should we open a second warehouse in Rotterdam?"
PROMPT = "You lead a researcher and an analyst. Give one order at a time: 'researcher: ...'."
MAX_MESSAGES = 6


@tool
def lookup(topic: str) -> str:
    """Look a fact up in the company wiki."""
    work()
    return FACTS[topic]


@tool
def calculate(formula: str) -> str:
    """Evaluate a formula of the planning sheet."""
    work()
    return FACTS[formula]


def tidy(state: MessagesState) -> dict[str, Any]:
    """Keep the context small before the supervisor reads it."""
    history = state["messages"]
    if len(history) <= MAX_MESSAGES:
        return {}
    recent = trim_messages(
        history, max_tokens=MAX_MESSAGES, token_counter=len, strategy="last", start_on="human"
    )
    kept = recent or history[:1]  # a model refuses an empty list
    return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *kept]}


def supervisor(state: MessagesState) -> Command[str]:
    """Decide who works next."""
    order = lead.invoke([SystemMessage(PROMPT), *state["messages"]])
    order.name = "supervisor"
    text = str(order.content)
    worker = next((name for name in WORKERS if f"{name}:" in text), "__end__")
    return Command(goto=worker, update={"messages": [order]})


def researcher(state: MessagesState) -> Command[str]:
    """Let the researcher carry out the last order."""
    return _delegate("researcher", state)


def analyst(state: MessagesState) -> Command[str]:
    """Let the analyst carry out the last order."""
    return _delegate("analyst", state)


def _delegate(name: str, state: MessagesState) -> Command[str]:
    order = HumanMessage(str(state["messages"][-1].content))
    result = WORKERS[name].invoke({"messages": [order]})
    report = AIMessage(str(result["messages"][-1].content), name=name)
    return Command(goto="tidy", update={"messages": [report]})


def build_graph() -> Any:
    """Wire supervisor and workers."""
    graph = StateGraph(MessagesState)
    graph.add_node("tidy", tidy)
    graph.add_node("supervisor", supervisor, destinations=("researcher", "analyst", "__end__"))
    graph.add_node("researcher", researcher, destinations=("tidy",))
    graph.add_node("analyst", analyst, destinations=("tidy",))
    graph.add_edge(START, "tidy")
    graph.add_edge("tidy", "supervisor")
    return graph.compile(name="warehouse_brief")


def main() -> None:
    """Ask for the brief."""
    try:
        build_graph().invoke({"messages": [HumanMessage(TASK)]}, {"recursion_limit": 18})
    except GraphRecursionError as error:
        print(f"gave up: {error}")


# What the models would answer, and what the tools would find.
FACTS = {
    "rents in rotterdam": "Logistics space near the port: 98 euro per square metre and year.",
    "delivery times": "Ten largest customers: 2.9 days from Lyon, 1.1 days from Rotterdam.",
    "4000*98": "392 000",
    "392000/310000": "1.26",
}
lead = ScriptedChat(
    speaker="supervisor",
    script=[
        (
            "Let us begin with the brief on a second warehouse. First we need the cost side: "
            "researcher: find out what logistics space near the port of Rotterdam costs per year.",
            "Let us begin with the brief on a second warehouse. First comes what it would cost us: "
            "researcher: find out what logistics space near the port of Rotterdam costs per year.",
        ),
        (
            "Good. Now the benefit side of the question: researcher: find the delivery times to "
            "our ten largest customers from both places.",
            "That was the cost. How much faster would we be? researcher: look up delivery times "
            "from Lyon and from Rotterdam for the ten most important customers.",
        ),
        (
            "With both sides known we can compare: analyst: work out the yearly rent for 4000 "
            "square metres at that price.",
            "Now a number for the year. analyst: what does a hall of 4000 square metres come to? "
            "I need the yearly rent.",
        ),
        "Then: analyst: work out the payback in years against 310 000 saved on transport.",
        "Brief: open it. The rent of 392 000 pays back in about fifteen months, and deliveries "
        "become almost two days faster.",
    ],
)
WORKERS = {
    "researcher": create_agent(
        ScriptedChat(
            script={
                "costs per year": [
                    Call("lookup", {"topic": "rents in rotterdam"}),
                    (
                        "Space near the port costs 98 euro per square metre and year.",
                        "According to the wiki one pays 98 euro a year for a square metre there.",
                    ),
                ],
                "delivery times": [
                    Call("lookup", {"topic": "delivery times"}),
                    (
                        "From Lyon it takes 2.9 days on average, from Rotterdam it would take 1.1.",
                        "The average is 2.9 days now and would be 1.1 days with the new place.",
                    ),
                ],
            }
        ),
        tools=[lookup],
        name="researcher",
    ),
    "analyst": create_agent(
        ScriptedChat(
            script={
                "yearly rent": [
                    Call("calculate", {"formula": "4000*98"}),
                    "The rent would be 392 000 euro a year.",
                ],
                "payback": [
                    Call("calculate", {"formula": "392000/310000"}),
                    "It pays back in 1.26 years.",
                ],
            }
        ),
        tools=[calculate],
        name="analyst",
    ),
}

if __name__ == "__main__":
    main()
