"""Human input, canned replies and code output: who wrote a message."""

from __future__ import annotations

from typing import Any

import pytest
from autogen import ConversableAgent
from autogen.coding import CodeBlock, CodeResult, MarkdownCodeExtractor

from apps import autogen_apps as apps
from mastwatch.events import HumanAsked, HumanReplied
from mastwatch_instrumentations.autogen import AutoGenInstrumentor


def answers(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    remaining = iter(lines)
    monkeypatch.setattr("builtins.input", lambda *_: next(remaining))


def test_what_a_person_types_is_a_human_message(seen: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    answers(monkeypatch, "in blue please", "", "exit")
    proxy = apps.user(human_input_mode="ALWAYS", default_auto_reply="whatever")
    proxy.initiate_chat(apps.assistant("helper", ["a", "b", "c"]), message="Paint!")
    assert [(m.sender, m.text, m.kind, m.role) for m in seen.messages] == [
        ("user", "Paint!", "opener", "user"),
        ("helper", "a", "reply", "assistant"),
        ("user", "in blue please", "human", "user"),
        ("helper", "b", "reply", "assistant"),
        ("user", "whatever", "auto_reply", "assistant"),
        ("helper", "c", "reply", "assistant"),
    ]
    assert [(e.agent, e.text) for e in seen.of(HumanReplied)] == [("user", ""), ("user", "exit")]
    assert [e.agent for e in seen.of(HumanAsked)] == ["user"] * 3
    assert seen.ends == [("completed", "User requested to end the conversation")]
    assert seen.started[0].contract.max_messages == 201
    seen.check()


async def test_a_person_in_an_async_chat(seen: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if AutoGenInstrumentor.version() == ("pyautogen", "0.9"):
        pytest.skip("it awaits the text that a person typed")
    answers(monkeypatch, "in blue please", "exit")
    proxy = apps.user(human_input_mode="ALWAYS")
    await proxy.a_initiate_chat(apps.assistant("helper", ["a", "b"]), message="Paint!")
    assert [message.kind for message in seen.messages] == ["opener", "reply", "human", "reply"]
    assert [e.text for e in seen.of(HumanReplied)] == ["exit"]
    seen.check()


def test_a_person_behind_an_overridden_get_human_input(seen: Any) -> None:
    class Web(ConversableAgent):
        def get_human_input(self, prompt: str, **_: Any) -> str:
            return "typed" if len(seen.messages) < 3 else "exit"

    web = Web("web", llm_config=False, human_input_mode="ALWAYS")
    web.initiate_chat(apps.canned("helper", "ok"), message="hi")
    assert [message.kind for message in seen.messages] == [
        "opener",
        "auto_reply",
        "human",
        "auto_reply",
    ]
    seen.check()


def test_a_person_who_interrupts_a_tool_call_is_heard(
    seen: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(monkeypatch, "do not call that", "exit")
    proxy, helper = apps.weather_pair(lines=[[("weather", '{"city": "Bonn"}')], "fine"])
    proxy.human_input_mode = "ALWAYS"
    proxy.initiate_chat(helper, message="Weather?")
    assert ("user", "do not call that") in seen.said
    assert seen.tools == []
    seen.check()


def test_the_opener_can_be_typed(seen: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    answers(monkeypatch, "hello there")
    apps.user().initiate_chat(apps.assistant("helper", ["TERMINATE"]))
    assert seen.said == [("user", "hello there"), ("helper", "TERMINATE")]
    assert seen.messages[0].kind == "opener"
    seen.check()


class Echo:
    """A code executor that runs nothing."""

    code_extractor = MarkdownCodeExtractor()

    def execute_code_blocks(self, code_blocks: list[CodeBlock]) -> CodeResult:
        return CodeResult(exit_code=0, output="42")

    def restart(self) -> None:
        pass


def test_the_output_of_code_is_of_its_own_kind(seen: Any) -> None:
    helper = apps.assistant("helper", ["```python\nprint(42)\n```", "TERMINATE"])
    proxy = apps.user(code_execution_config={"executor": Echo()})
    proxy.initiate_chat(helper, message="go")
    assert [(m.sender, m.kind) for m in seen.messages] == [
        ("user", "opener"),
        ("helper", "reply"),
        ("user", "code"),
        ("helper", "reply"),
    ]
    seen.check()


def test_a_list_of_parts_is_read_as_text(seen: Any) -> None:
    helper = apps.assistant("helper", ["TERMINATE"])
    parts = [{"type": "text", "text": "what is this?"}, {"type": "image_url", "image_url": {}}]
    apps.user().initiate_chat(helper, message={"content": parts})
    assert seen.said[0] == ("user", "what is this? <image_url>")
    assert seen.started[0].task == "what is this? <image_url>"
    seen.check()
