"""The scripted model as a LangChain chat model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable

from mastwatch.demo.models import Call, Script, count_tokens, next_line, think


class ScriptedChat(BaseChatModel):
    """A chat model that speaks a script.

    Attributes:
        script: What it says.
        speaker: Its name in a history it shares with others; empty where all answers are its own.
    """

    script: Any
    speaker: str = ""
    model_name: str = "scripted-chat"

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Take tools as any chat model does; the script knows which ones it calls."""
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        think()
        script: Script = self.script
        line = next_line(script, sum(map(self._is_mine, messages)), _question(messages))
        return ChatResult(generations=[ChatGeneration(message=_answer(line, messages))])

    def _is_mine(self, message: BaseMessage) -> bool:
        return isinstance(message, AIMessage) and self.speaker in ("", message.name)


def _question(messages: list[BaseMessage]) -> str:
    return next((str(m.content) for m in messages if isinstance(m, HumanMessage)), "")


def _answer(line: str | Call, messages: list[BaseMessage]) -> AIMessage:
    asked = count_tokens([str(message.content) for message in messages])
    text = "" if isinstance(line, Call) else line
    answered = count_tokens([text]) or 12
    usage: Any = {
        "input_tokens": asked,
        "output_tokens": answered,
        "total_tokens": asked + answered,
    }
    calls: list[Any] = []
    if isinstance(line, Call):
        calls = [{"name": line.tool, "args": dict(line.arguments), "id": line.new_id()}]
    return AIMessage(content=text, tool_calls=calls, usage_metadata=usage)
