"""Scripted AG2 apps: real agents, no model behind them. Reused by other suites."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

from autogen import ConversableAgent, GroupChat, GroupChatManager, UserProxyAgent

CONFIG = {"config_list": [{"model": "scripted", "model_client_cls": "ScriptedClient"}]}


class ScriptedClient:
    """A model client that says its lines one after the other; the last one again and again.

    A line is a text, a list of ``(tool, arguments-as-JSON)``, an exception to raise, or a callable
    of the request's messages that returns one of these.
    """

    def __init__(self, config: dict[str, Any], lines: Iterable[Any]) -> None:
        self.lines = list(lines)
        self.calls = 0

    def create(self, params: dict[str, Any]) -> Any:
        line = self.lines[min(self.calls, len(self.lines) - 1)]
        self.calls += 1
        if callable(line) and not isinstance(line, BaseException):
            line = line(params["messages"])
        if isinstance(line, BaseException):
            raise line
        return response(line, self.calls)

    def message_retrieval(self, response: Any) -> list[Any]:
        found = []
        for choice in response.choices:
            message = choice.message
            if message.tool_calls:
                found.append(
                    {"role": "assistant", "content": None, "tool_calls": message.tool_calls}
                )
            else:
                found.append(message.content)
        return found

    def cost(self, response: Any) -> float:
        return 0.0

    @staticmethod
    def get_usage(response: Any) -> dict[str, Any]:
        return {
            "prompt_tokens": response.usage.prompt_tokens,
            "completion_tokens": response.usage.completion_tokens,
            "total_tokens": 5,
            "cost": 0.0,
            "model": response.model,
        }


class PickingClient(ScriptedClient):
    """Picks the next speaker of a group chat: a name that does not exist, then the tester."""

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__(config, ["nobody", "tester"])


def response(line: Any, number: int) -> Any:
    """The response object for a line."""
    calls = None
    if isinstance(line, list):
        calls = [
            {
                "id": f"call_{number}_{position}",
                "type": "function",
                "function": {"name": name, "arguments": arguments},
            }
            for position, (name, arguments) in enumerate(line)
        ]
    message = SimpleNamespace(content=None if calls else line, tool_calls=calls)
    found = SimpleNamespace(
        choices=[SimpleNamespace(message=message, finish_reason="stop")],
        usage=SimpleNamespace(prompt_tokens=3, completion_tokens=2),
        model="scripted",
        cost=0.0,
    )
    found.message_retrieval_function = lambda: ScriptedClient({}, []).message_retrieval(found)
    return found


def with_lines(agent: ConversableAgent, lines: Iterable[Any]) -> ConversableAgent:
    """Put a script behind an agent; to be done after its tools are registered."""
    agent.register_model_client(model_client_cls=ScriptedClient, lines=list(lines))
    return agent


def assistant(name: str, lines: Iterable[Any] = ("hello",), **options: Any) -> ConversableAgent:
    """An agent with a scripted model."""
    options.setdefault("human_input_mode", "NEVER")
    return with_lines(ConversableAgent(name, llm_config=dict(CONFIG), **options), lines)


def user(name: str = "user", **options: Any) -> UserProxyAgent:
    """A user proxy without a model that stops on TERMINATE."""
    options.setdefault("human_input_mode", "NEVER")
    options.setdefault("code_execution_config", False)
    options.setdefault(
        "is_termination_msg", lambda m: (m.get("content") or "").rstrip().endswith("TERMINATE")
    )
    return UserProxyAgent(name, **options)


def canned(name: str, text: str = "go on", **options: Any) -> ConversableAgent:
    """An agent that always says the same, without a model."""
    options.setdefault("human_input_mode", "NEVER")
    return ConversableAgent(name, llm_config=False, default_auto_reply=text, **options)


def weather_pair(
    tool: Callable[..., Any] | None = None, lines: Iterable[Any] | None = None
) -> tuple[UserProxyAgent, ConversableAgent]:
    """A user and an assistant that calls the tool ``weather`` twice, then stops."""

    def weather(city: str) -> str:
        return f"Sunny in {city}"

    proxy = user()
    helper = ConversableAgent("assistant", llm_config=dict(CONFIG), human_input_mode="NEVER")
    chosen = tool or weather
    helper.register_for_llm(name="weather", description="The weather in a city")(chosen)
    proxy.register_for_execution(name="weather")(chosen)
    script = lines or [
        [("weather", '{"city": "Bonn"}')],
        [("weather", '{"city": "Kiel"}')],
        "Sunny in both. TERMINATE",
    ]
    return proxy, with_lines(helper, script)


def group(
    size: int = 4,
    rounds: int = 6,
    method: Any = "round_robin",
    **options: Any,
) -> tuple[list[ConversableAgent], GroupChatManager]:
    """A group chat of canned speakers with distinct lines."""
    names = ("planner", "coder", "tester", "writer", "critic", "editor")[:size]
    members = []
    for name in names:
        member = ConversableAgent(name, llm_config=False, human_input_mode="NEVER")
        member.register_reply([ConversableAgent, None], lines_of(name), position=0)
        members.append(member)
    chat = GroupChat(
        members, messages=[], max_round=rounds, speaker_selection_method=method, **options
    )
    return members, GroupChatManager(chat, llm_config=False)


def lines_of(name: str) -> Callable[..., tuple[bool, str]]:
    """A reply function that counts, so that no two lines are alike."""
    spoken = 0

    def reply(
        recipient: Any, messages: Any = None, sender: Any = None, config: Any = None
    ) -> tuple[bool, str]:
        nonlocal spoken
        spoken += 1
        return True, f"{name} on point {spoken}"

    return reply
