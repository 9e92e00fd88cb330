"""Two who write a travel tip, offline. ``app.py loop``: the researcher goes in circles."""

from __future__ import annotations

import json
import sys
from typing import Any

from crewai import Agent, Crew, Task
from crewai.llms.base_llm import BaseLLM
from crewai.tools import tool


class Scripted(BaseLLM):
    """A model that gives its answers in order."""

    _answers: list[str]

    def __init__(self, model: str, answers: list[str]) -> None:
        super().__init__(model=model)
        self._answers = answers

    def call(self, messages: Any, *args: Any, **kwargs: Any) -> str:
        return self._answers.pop(0)

    def supports_function_calling(self) -> bool:
        return False


@tool("weather")
def weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"{city}: sunny, 21 degrees"


@tool("museums")
def museums(city: str) -> str:
    """List the museums of a city."""
    return f"{city}: Kunstmuseum, Beethoven-Haus"


def ask(thought: str, name: str, **arguments: str) -> str:
    return f"Thought: {thought}\nAction: {name}\nAction Input: {json.dumps(arguments)}"


def final(answer: str) -> str:
    return f"Thought: I now know the final answer\nFinal Answer: {answer}"


def main(loop: bool) -> None:
    research = [ask("First the weather.", "weather", city="Bonn")]
    if loop:
        research += [ask("I look at the weather once more.", "weather", city="Bonn")] * 4
    research += [
        ask("Now the museums.", "museums", city="Bonn"),
        final("Bonn is sunny and has the Beethoven-Haus."),
    ]
    researcher = Agent(
        role="Researcher",
        goal="find facts",
        backstory="Knows where to look.",
        llm=Scripted(model="scripted-research", answers=research),
        tools=[weather, museums],
    )
    writer = Agent(
        role="Writer",
        goal="write short tips",
        backstory="Writes for a travel magazine.",
        llm=Scripted(
            model="scripted-writing", answers=[final("Go to Bonn: sun and the Beethoven-Haus.")]
        ),
    )
    crew = Crew(
        name="tips",
        agents=[researcher, writer],
        tasks=[
            Task(
                description="Collect facts about {city}.",
                expected_output="facts",
                agent=researcher,
            ),
            Task(description="Write a travel tip.", expected_output="a sentence", agent=writer),
        ],
    )
    print(crew.kickoff({"city": "Bonn"}))


if __name__ == "__main__":
    main("loop" in sys.argv[1:])
