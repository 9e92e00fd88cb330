# /// script
# requires-python = ">=3.10"
# dependencies = ["autogen==0.14.1", "openai==3.54.0", "opentelemetry-sdk==1.45.1"]
# ///
"""AG2 classic, traced by its own ``autogen.opentelemetry``."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace
from typing import Any

import shop
from autogen import ConversableAgent, LLMConfig
from autogen.opentelemetry import instrument_agent, instrument_llm_wrapper
from otlp_file import OtlpFile

CALLS = (("call_1", "lookup_order", {"number": "A-17"}), ("call_2", "check_stock", {"item": "mug"}))


def tool_call(id: str, name: str, arguments: dict[str, str]) -> Any:
    function = SimpleNamespace(name=name, arguments=json.dumps(arguments))
    return SimpleNamespace(id=id, type="function", function=function)


class Clerk:
    """A scripted model: two tool calls, then the answer."""

    def __init__(self, config: dict[str, Any], **_: Any) -> None:
        self.turns = iter([*([tool_call(*call)] for call in CALLS), shop.ANSWER])

    def create(self, params: dict[str, Any]) -> Any:
        said = next(self.turns)
        text, calls = (said, None) if isinstance(said, str) else (None, said)
        message = SimpleNamespace(content=text, tool_calls=calls, function_call=None)
        choice = SimpleNamespace(message=message, finish_reason="tool_calls" if calls else "stop")
        usage = SimpleNamespace(prompt_tokens=20, completion_tokens=8, total_tokens=28)
        return SimpleNamespace(
            choices=[choice],
            model="scripted-1",
            usage=usage,
            cost=0.0,
            message_retrieval_function=self.message_retrieval,
        )

    def message_retrieval(self, response: Any) -> list[Any]:
        message = response.choices[0].message
        if not message.tool_calls:
            return [message.content]
        calls = [{**vars(call), "function": vars(call.function)} for call in message.tool_calls]
        return [{"role": "assistant", "content": None, "tool_calls": calls}]

    def cost(self, response: Any) -> float:
        return 0.0

    @staticmethod
    def get_usage(response: Any) -> dict[str, Any]:
        return {**vars(response.usage), "cost": 0.0, "model": response.model}


def main(name: str, capture: bool) -> None:
    file = OtlpFile(name)
    provider = file.provider()
    instrument_llm_wrapper(tracer_provider=provider, capture_messages=capture)
    config = LLMConfig({"model": "scripted-1", "model_client_cls": "Clerk", "api_key": "none"})
    clerk = ConversableAgent(
        "clerk",
        system_message=shop.CLERK_PROMPT,
        llm_config=config,
        human_input_mode="NEVER",
        is_termination_msg=lambda message: "TERMINATE" in (message.get("content") or ""),
    )
    planner = ConversableAgent(
        "planner",
        llm_config=False,
        human_input_mode="NEVER",
        default_auto_reply=shop.DONE,
    )
    for tool in (shop.lookup_order, shop.check_stock):
        clerk.register_for_llm(description=tool.__doc__)(tool)
        planner.register_for_execution()(tool)
    clerk.register_model_client(Clerk)
    for agent in (clerk, planner):
        instrument_agent(agent, tracer_provider=provider)
    planner.initiate_chat(clerk, message=shop.ASKED, max_turns=4, silent=True)
    file.write({"gen_ai.conversation.id": "271828"})


if __name__ == "__main__":
    off = "off" in sys.argv[1:]
    main("ag2_classic.off" if off else "ag2_classic", capture=not off)
