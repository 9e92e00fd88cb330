"""Offline crews: a model that says what it is scripted to, agents, tools."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from crewai import Agent, Crew, Task
from crewai.events.event_bus import crewai_event_bus
from crewai.events.types.llm_events import LLMStreamChunkEvent
from crewai.llms.base_llm import BaseLLM
from crewai.tools import tool
from pydantic import PrivateAttr


def act(thought: str, tool_name: str, **arguments: Any) -> str:
    """An answer that asks for a tool, in the form of ReAct."""
    return f"Thought: {thought}\nAction: {tool_name}\nAction Input: {json.dumps(arguments)}"


def final(answer: str) -> str:
    """An answer that ends an agent's work."""
    return f"Thought: I now know the final answer\nFinal Answer: {answer}"


def native(*calls: tuple[str, str, dict[str, Any]]) -> list[dict[str, Any]]:
    """An answer that asks for tools by ``(id, name, arguments)``."""
    return [
        {
            "id": id,
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for id, name, arguments in calls
    ]


class Scripted(BaseLLM):
    """A model that gives its answers in order; an exception is raised, a function is called."""

    functions: bool = False
    _answers: list[Any] = PrivateAttr(default_factory=list)
    _asked: list[Any] = PrivateAttr(default_factory=list)

    def __init__(self, *answers: Any, functions: bool = False) -> None:
        super().__init__(model="scripted")
        self.functions = functions
        self._answers, self._asked = list(answers), []

    @property
    def asked(self) -> list[Any]:
        return self._asked

    def call(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        self._asked.append(messages)
        answer = self._answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer() if callable(answer) else answer

    async def acall(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        answer = self.call(messages)
        await asyncio.sleep(0)
        return await answer if asyncio.iscoroutine(answer) else answer

    def supports_function_calling(self) -> bool:
        return self.functions


def chunk(text: str) -> None:
    """Tell CrewAI of a part of an answer, as a model does that streams."""
    crewai_event_bus.emit(None, LLMStreamChunkEvent(chunk=text, call_id="1"))


@tool("population")
def population(city: str) -> str:
    """Look up how many people live in a city."""
    return f"{city}: 330000"


@tool("broken")
def broken(city: str) -> str:
    """Fail."""
    raise LookupError("no such city")


def agent(role: str, model: BaseLLM, *tools: Any, **more: Any) -> Agent:
    return Agent(
        role=role, goal=f"be a good {role}", backstory="Old hand.", llm=model, tools=tools, **more
    )


def task(text: str, who: Agent | None, **more: Any) -> Task:
    return Task(description=text, expected_output="a sentence", agent=who, **more)


def pair(
    research: BaseLLM,
    write: BaseLLM,
    *tools: Any,
    step: Callable[..., Any] | None = None,
    **more: Any,
) -> Crew:
    """Two agents with a task each, one after the other."""
    researcher = agent("Researcher", research, *(tools or (population,)))
    writer = agent("Writer", write)
    return Crew(
        agents=[researcher, writer],
        tasks=[
            task("Find out how many people live in {city}.", researcher),
            task("Write a sentence about it.", writer),
        ],
        **more,
    )


def healthy(**more: Any) -> Crew:
    return pair(
        Scripted(
            act("I look it up.", "population", city="Bonn"),
            final("330000 people live in Bonn."),
        ),
        Scripted(final("Bonn has 330000 inhabitants.")),
        **more,
    )
