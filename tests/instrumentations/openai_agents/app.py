"""An ordinary app on the OpenAI Agents SDK: a desk hands over to a clerk, who asks an expert.

``loop`` makes the clerk look up the same order over and over.
"""

import asyncio
import sys

from agents import Agent, Runner, function_tool, set_trace_processors
from agents.testing import ScriptedModel, assistant_message, function_call

LOOP = "loop" in sys.argv
set_trace_processors([])  # nothing to upload


@function_tool
def find_order(number: str) -> str:
    """Look up an order."""
    return f"Order {number} is on its way."


def asks(tool, call_id, **arguments):
    return [function_call(tool, arguments, call_id=call_id)]


expert = Agent(
    name="expert",
    instructions="You know the carriers.",
    model=ScriptedModel([[assistant_message("Parcels to Ulm take two days.")]]),
)
numbers = ["A-17"] * 5 if LOOP else ["A-17", "B-20"]
clerk = Agent(
    name="clerk",
    instructions="You look after orders.",
    tools=[find_order, expert.as_tool("ask_expert", "Knows the carriers.")],
    model=ScriptedModel(
        [
            *(asks("find_order", f"order-{n}", number=each) for n, each in enumerate(numbers)),
            asks("ask_expert", "expert-1", input="How long do parcels to Ulm take?"),
            [assistant_message("Your parcels arrive within two days.")],
        ]
    ),
)
desk = Agent(
    name="desk",
    instructions="You send people to the right place.",
    handoffs=[clerk],
    model=ScriptedModel([asks("transfer_to_clerk", "handoff-1")]),
)


async def main():
    result = Runner.run_streamed(desk, "Where are my parcels?")
    async for event in result.stream_events():
        if event.type == "run_item_stream_event":
            print(event.name)
    print(result.final_output)


asyncio.run(main())
