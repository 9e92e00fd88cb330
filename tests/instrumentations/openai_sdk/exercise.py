"""What check_instrumentor runs of the OpenAI SDK: two agents and a tool, scripted."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Iterator
from typing import Any

from openai.resources.chat.completions import AsyncCompletions, Completions
from openai.resources.responses import AsyncResponses, Responses

from apps.openai_models import Model

TASK = "How is the weather on the coast today?"
FOUND = "drizzle all day long in Kiel"
FORECAST = "There will be drizzle in Kiel all day long."
ADVICE = "Take a coat when you go to the harbour."
FORECASTER = {"role": "system", "content": "You know the weather."}
ADVISER = {"role": "system", "content": "You know what to wear."}


class Exercise:
    texts = (TASK, FOUND, FORECAST, ADVICE)

    def __init__(self) -> None:
        self._made: list[weakref.ref[Any]] = []

    def run(self) -> object:
        client = Model([{"weather": {"city": "Kiel"}}, FORECAST, ADVICE]).client()
        self._made = [weakref.ref(client)]
        history: list[Any] = [FORECASTER, {"role": "user", "content": TASK}]
        asked = client.chat.completions.create(model="scripted", messages=history)
        history.append(asked.choices[0].message)
        history.append({"role": "tool", "tool_call_id": "call_1", "content": FOUND})
        told = client.chat.completions.create(model="scripted", messages=history)
        forecast = told.choices[0].message.content
        question = {"role": "user", "content": f"{forecast} What shall I wear?"}
        advice = client.chat.completions.create(model="scripted", messages=[ADVISER, question])
        return [forecast, advice.choices[0].message.content]

    def fail(self, error: Exception) -> None:
        client = Model([error]).client()
        client.chat.completions.create(model="scripted", messages=[FORECASTER])

    async def cancel(self) -> None:
        begun = asyncio.Event()
        client = Model([FORECAST]).async_client()

        async def hang(*_: Any, **__: Any) -> None:
            begun.set()
            await asyncio.sleep(60)

        client._client.send = hang  # type: ignore[method-assign,assignment]
        asking = client.chat.completions.create(
            model="scripted", messages=[{"role": "user", "content": TASK}]
        )
        asked = asyncio.create_task(asking)
        await begun.wait()
        asked.cancel()
        await asked

    def stream(self) -> Iterator[Any]:
        client = Model([FORECAST]).client()
        question = [{"role": "user", "content": TASK}]
        with client.chat.completions.create(
            model="scripted",
            messages=question,  # type: ignore[arg-type]
            stream=True,
        ) as stream:
            yield from stream

    def patched(self) -> list[tuple[object, str]]:
        resources = (Completions, AsyncCompletions, Responses, AsyncResponses)
        return [(owner, name) for owner in resources for name in ("create", "parse")]

    def made(self) -> list[weakref.ref[Any]]:
        return self._made
