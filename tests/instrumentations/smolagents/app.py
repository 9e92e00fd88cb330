"""An ordinary smolagents app: a manager who writes code, and a scout who calls tools for it.

``loop`` makes the scout search for the same thing over and over.
"""

import sys

from smolagents import CodeAgent, LogLevel, ToolCallingAgent, tool
from smolagents.models import (
    ChatMessage,
    ChatMessageToolCall,
    ChatMessageToolCallFunction,
    MessageRole,
    Model,
)

LOOP = "loop" in sys.argv


class Script(Model):
    """A model that reads its answers from a script."""

    def __init__(self, *script):
        super().__init__(model_id="script")
        self.script = list(script)

    def generate(self, messages, **options):
        return self.script.pop(0)


def says(text):
    return ChatMessage(role=MessageRole.ASSISTANT, content=text)


def calls(name, call_id, **arguments):
    function = ChatMessageToolCallFunction(name=name, arguments=arguments)
    call = ChatMessageToolCall(function=function, id=call_id, type="function")
    return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[call])


@tool
def search(query: str) -> str:
    """Search the archive.

    Args:
        query: What for.
    """
    return f"A note about {query}."


@tool
def count(text: str) -> int:
    """Count the words of a text.

    Args:
        text: The text.
    """
    return len(text.split())


queries = ["harbour cranes"] * 5 if LOOP else ["harbour cranes", "harbour tides"]
scout = ToolCallingAgent(
    tools=[search],
    model=Script(
        *(calls("search", f"s{n}", query=query) for n, query in enumerate(queries)),
        calls("final_answer", "s-end", answer="The cranes came in 1863."),
    ),
    name="scout",
    description="Searches the archive.",
    verbosity_level=LogLevel.OFF,
)
manager = CodeAgent(
    tools=[count],
    managed_agents=[scout],
    model=Script(
        says(
            "I ask the scout.\n<code>\nnote = scout(task='Find the cranes.')\nprint(note)\n</code>"
        ),
        says("I count.\n<code>\nprint(count(text='The cranes came in 1863.'))\n</code>"),
        says("Done.\n<code>\nfinal_answer('The cranes came in 1863, in five words.')\n</code>"),
    ),
    name="manager",
    verbosity_level=LogLevel.INFO,
)
print(manager.run("When did the cranes come?"))
