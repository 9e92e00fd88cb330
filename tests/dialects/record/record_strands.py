# /// script
# requires-python = ">=3.10"
# dependencies = ["strands-agents==1.62.0"]
# ///
"""Strands Agents, which trace themselves on the global provider.

Arguments: ``latest`` for the conventions of ``gen_ai_latest_experimental``, ``off`` for redaction.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from typing import Any

FORM = sys.argv[1] if len(sys.argv) > 1 else ""
os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = {
    "latest": "gen_ai_latest_experimental,gen_ai_span_attributes_only",
    "off": "gen_ai_unredacted_attributes=",
}.get(FORM, "")

import shop  # noqa: E402
from opentelemetry import trace  # noqa: E402
from otlp_file import OtlpFile  # noqa: E402
from strands import Agent, tool  # noqa: E402
from strands.models import Model  # noqa: E402


class Scripted(Model):
    """Says what it is told to: texts and tool calls."""

    def __init__(self, *said: str | tuple[str, str, str]) -> None:
        self.said = iter(said)
        self.config = {"model_id": "scripted-1"}

    def update_config(self, **_: Any) -> None:
        pass

    def get_config(self) -> dict[str, str]:
        return self.config

    async def structured_output(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError
        yield

    async def stream(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        said = next(self.said)
        yield {"messageStart": {"role": "assistant"}}
        if isinstance(said, str):
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": said}}}
        else:
            id, name, arguments = said
            yield {"contentBlockStart": {"start": {"toolUse": {"name": name, "toolUseId": id}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": arguments}}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if isinstance(said, str) else "tool_use"}}
        usage = {"inputTokens": 20, "outputTokens": 8, "totalTokens": 28}
        yield {"metadata": {"usage": usage, "metrics": {"latencyMs": 0}}}


def main(name: str) -> None:
    file = OtlpFile(name)
    trace.set_tracer_provider(file.provider())
    clerk = Agent(
        model=Scripted(
            ("call_2", "lookup_order", '{"number": "A-17"}'),
            ("call_3", "check_stock", '{"item": "mug"}'),
            shop.FOUND,
        ),
        name="clerk",
        system_prompt=shop.CLERK_PROMPT,
        tools=[tool(shop.lookup_order), tool(shop.check_stock)],
        callback_handler=None,
    )

    @tool
    def ask_clerk(request: str) -> str:
        """Ask the clerk."""
        return str(clerk(request)).strip()

    planner = Agent(
        model=Scripted(("call_1", "ask_clerk", f'{{"request": "{shop.ASKED}"}}'), shop.ANSWER),
        name="planner",
        system_prompt=shop.PLANNER_PROMPT,
        tools=[ask_clerk],
        callback_handler=None,
        trace_attributes={"session.id": "order-a17"},
    )
    planner(shop.TASK)
    file.write({"gen_ai.server.time_to_first_token": 1, "gen_ai.server.request.duration": 1})


if __name__ == "__main__":
    main(f"strands.{FORM}" if FORM else "strands")
