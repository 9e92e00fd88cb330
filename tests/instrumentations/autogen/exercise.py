"""What check_instrumentor runs of AG2 classic: a user, an assistant and its tool, scripted."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Iterator
from typing import Any

from autogen import ConversableAgent, GroupChat, GroupChatManager

from apps import autogen_apps as apps

TASK = "How is the weather on the coast today?"
ANSWER = "Take a coat when you go to the harbour. TERMINATE"


def weather(city: str) -> str:
    """The weather of a city."""
    return f"Drizzle all day long in {city}"


class Exercise:
    texts = (TASK, ANSWER, "Drizzle all day long in Kiel")

    def __init__(self) -> None:
        self._made: list[weakref.ref[Any]] = []

    def run(self) -> object:
        pair = self._pair([[("weather", '{"city": "Kiel"}')], ANSWER])
        self._made = [weakref.ref(agent) for agent in pair]
        return [message["content"] for message in self._chat(*pair).chat_history]

    def fail(self, error: Exception) -> None:
        self._chat(*self._pair([error]))

    async def cancel(self) -> None:
        begun = asyncio.Event()

        async def weather(city: str) -> str:
            begun.set()
            await asyncio.sleep(60)
            return city

        user, assistant = apps.weather_pair(weather)
        chat = asyncio.create_task(user.a_initiate_chat(assistant, message=TASK, silent=True))
        await begun.wait()
        chat.cancel()
        await chat

    def stream(self) -> Iterator[Any]:
        user, assistant = self._pair([[("weather", '{"city": "Kiel"}')], ANSWER])
        yield from user.run_iter(assistant, message=TASK)

    def patched(self) -> list[tuple[object, str]]:
        names = (
            *("initiate_chat", "a_initiate_chat", "generate_reply", "a_generate_reply"),
            *("_process_received_message", "execute_function", "a_execute_function"),
            *("_generate_oai_reply_from_client", "get_human_input", "a_get_human_input"),
            "clear_history",
        )
        return [
            *((ConversableAgent, name) for name in names),
            *((GroupChat, name) for name in ("select_speaker", "a_select_speaker")),
            *((GroupChatManager, name) for name in ("resume", "a_resume")),
        ]

    def agents(self) -> list[object]:
        return [apps.canned("parrot"), apps.user()]

    def made(self) -> list[weakref.ref[Any]]:
        return self._made

    def _pair(self, lines: list[Any]) -> tuple[Any, Any]:
        return apps.weather_pair(weather, lines)

    def _chat(self, user: Any, assistant: Any) -> Any:
        return user.initiate_chat(assistant, message=TASK)
