"""A planner with a clerk, on Strands; with ``loop`` the clerk asks the same on and on."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from typing import Any

from strands import Agent, tool
from strands.models import Model


class Scripted(Model):
    def __init__(self, *said: str | tuple[str, str]) -> None:
        self.said = iter(enumerate(said))

    def update_config(self, **_: Any) -> None:
        pass

    def get_config(self) -> dict[str, str]:
        return {"model_id": "scripted-1"}

    async def structured_output(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError
        yield

    async def stream(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        number, said = next(self.said)
        yield {"messageStart": {"role": "assistant"}}
        if isinstance(said, str):
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": said}}}
        else:
            start = {"name": said[0], "toolUseId": f"{said[0]}_{number}"}
            yield {"contentBlockStart": {"start": {"toolUse": start}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": said[1]}}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if isinstance(said, str) else "tool_use"}}
        usage = {"inputTokens": 20, "outputTokens": 8, "totalTokens": 28}
        yield {"metadata": {"usage": usage, "metrics": {"latencyMs": 0}}}


@tool
def lookup_order(number: str) -> str:
    """Say where an order is."""
    return f"Order {number} left the warehouse on Monday."


def main(times: int) -> None:
    clerk = Agent(
        model=Scripted(
            *[("lookup_order", '{"number": "A-17"}')] * times,
            "The order left the warehouse on Monday.",
        ),
        name="clerk",
        tools=[lookup_order],
        callback_handler=None,
    )

    @tool
    def ask_clerk(request: str) -> str:
        """Ask the clerk."""
        return str(clerk(request)).strip()

    planner = Agent(
        model=Scripted(
            ("ask_clerk", '{"request": "Where is order A-17?"}'),
            "Your order is on its way since Monday.",
        ),
        name="planner",
        tools=[ask_clerk],
        callback_handler=None,
    )
    print(planner("Where is my order A-17, please?"))


if __name__ == "__main__":
    main(4 if "loop" in sys.argv[1:] else 1)
