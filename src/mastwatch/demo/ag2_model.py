"""The scripted model behind AG2's ``ModelClient`` protocol."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

from autogen import ConversableAgent

from mastwatch.demo.models import Call, Script, count_tokens, next_line, think

MODEL = "scripted-ag2"
LLM_CONFIG: dict[str, Any] = {
    "config_list": [{"model": MODEL, "model_client_cls": "ScriptedClient"}],
    "cache_seed": None,  # AG2 would else keep answers in a .cache folder of the working directory
}


def give_model(agent: ConversableAgent, script: Script) -> None:
    """Let an agent made with LLM_CONFIG speak this script; call it after tools are registered."""
    client: Any = ScriptedClient  # AG2's annotation asks for an instance where it takes a class
    agent.register_model_client(model_client_cls=client, script=script, speaker=agent.name)


class ScriptedClient:
    """A custom model client, as AG2's documentation describes them."""

    def __init__(self, config: dict[str, Any], script: Script, speaker: str) -> None:
        self.script = script
        self.speaker = speaker

    def create(self, params: dict[str, Any]) -> Any:
        """Answer a request."""
        think()
        messages = params["messages"]
        said = sum(map(self._is_mine, messages))
        asked: dict[str, Any] = next((m for m in messages if m.get("role") == "user"), {})
        line = next_line(self.script, said, str(asked.get("content")))
        return SimpleNamespace(
            choices=[SimpleNamespace(message=_message(line))],
            model=MODEL,
            usage=_usage(messages, line),
            cost=0.0,
            # AG2 fills this with message_retrieval, but only where the attribute is there.
            message_retrieval_function=None,
        )

    def _is_mine(self, message: dict[str, Any]) -> bool:
        # The role alone does not tell: AG2 gives it to everybody's tool calls.
        return message.get("role") == "assistant" and message.get("name") in (None, self.speaker)

    def message_retrieval(self, response: Any) -> list[Any]:
        """Return the answers of a response: texts, or messages that call a tool."""
        return [choice.message for choice in response.choices]

    def cost(self, response: Any) -> float:
        """Return what the response cost: nothing."""
        return 0.0

    @staticmethod
    def get_usage(response: Any) -> dict[str, Any]:
        """Return the token counts, under the names AG2 asks for."""
        usage = response.usage
        return {
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "total_tokens": usage.prompt_tokens + usage.completion_tokens,
            "cost": 0.0,
            "model": MODEL,
        }


def _message(line: str | Call) -> str | dict[str, Any]:
    if isinstance(line, str):
        return line
    function = {"name": line.tool, "arguments": json.dumps(dict(line.arguments))}
    call = {"id": line.new_id(), "type": "function", "function": function}
    return {"role": "assistant", "content": "", "tool_calls": [call]}


def _usage(messages: list[dict[str, Any]], line: str | Call) -> SimpleNamespace:
    answer = json.dumps(dict(line.arguments)) if isinstance(line, Call) else line
    return SimpleNamespace(
        prompt_tokens=count_tokens([str(message.get("content")) for message in messages]),
        completion_tokens=count_tokens([answer]),
    )
