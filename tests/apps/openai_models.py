"""Scripted models behind the real OpenAI SDK, over a transport in memory."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import openai
from openai import AsyncOpenAI, OpenAI

if int(openai.__version__.partition(".")[0]) >= 3:  # both may be installed; it takes its own only
    import httpx2 as httpx
else:
    import httpx  # type: ignore[no-redef]

Said = str | Mapping[str, Any] | int | BaseException
"""A text; tool calls by name, ``{"search": {"q": "x"}}``; an HTTP status; what to raise."""
Script = Callable[[dict[str, Any]], Said] | Iterable[Said]


class Model:
    """Answers chat completions and responses as scripted, streamed where asked to.

    Args:
        script: Answers in their order, the last one for all further requests; or a function of the
            request.
    """

    def __init__(self, script: Script) -> None:
        self._script = script if callable(script) else _in_order(script)
        self.requests: list[dict[str, Any]] = []
        self.calls = 0

    def client(self, **options: Any) -> OpenAI:
        transport = httpx.MockTransport(self._answer)
        options = {"api_key": "k", "max_retries": 0, **options}
        return OpenAI(http_client=httpx.Client(transport=transport), **options)

    def async_client(self, **options: Any) -> AsyncOpenAI:
        async def answer(request: Any) -> Any:
            return self._answer(request)

        transport = httpx.MockTransport(answer)
        options = {"api_key": "k", "max_retries": 0, **options}
        return AsyncOpenAI(http_client=httpx.AsyncClient(transport=transport), **options)

    def _answer(self, request: Any) -> Any:
        asked = json.loads(request.content)
        self.requests.append(asked)
        said = self._script(asked)
        if isinstance(said, BaseException):
            raise said
        if isinstance(said, int):
            return httpx.Response(said, json={"error": {"message": "no", "code": "no"}})
        whole = self._response(said) if request.url.path.endswith("responses") else self._chat(said)
        if not asked.get("stream"):
            return httpx.Response(200, json=whole)
        pieces = _events(whole) if "output" in whole else _chunks(whole, asked)
        body = "".join(f"data: {json.dumps(piece)}\n\n" for piece in pieces) + "data: [DONE]\n\n"
        return httpx.Response(200, text=body, headers={"content-type": "text/event-stream"})

    def _tool_calls(self, said: Mapping[str, Any]) -> list[tuple[str, str, str]]:
        made = []
        for name, arguments in said.items():
            self.calls += 1
            made.append((f"call_{self.calls}", name, json.dumps(arguments)))
        return made

    def _chat(self, said: str | Mapping[str, Any]) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": said}
        if not isinstance(said, str):
            calls = [
                {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
                for id, name, arguments in self._tool_calls(said)
            ]
            message = {"role": "assistant", "content": None, "tool_calls": calls}
        reason = "stop" if isinstance(said, str) else "tool_calls"
        return {
            "id": f"chatcmpl-{len(self.requests)}",
            "object": "chat.completion",
            "created": 1,
            "model": "scripted-1",
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
        }

    def _response(self, said: str | Mapping[str, Any]) -> dict[str, Any]:
        output: list[dict[str, Any]]
        if isinstance(said, str):
            part = {"type": "output_text", "text": said, "annotations": []}
            output = [
                {
                    "type": "message",
                    "id": f"msg_{len(self.requests)}",
                    "role": "assistant",
                    "status": "completed",
                    "content": [part],
                }
            ]
        else:
            output = [
                {
                    "type": "function_call",
                    "id": f"fc_{id}",
                    "call_id": id,
                    "name": name,
                    "arguments": arguments,
                    "status": "completed",
                }
                for id, name, arguments in self._tool_calls(said)
            ]
        usage = {
            "input_tokens": 11,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 7,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 18,
        }
        return {
            "id": f"resp_{len(self.requests)}",
            "object": "response",
            "created_at": 1,
            "model": "scripted-1",
            "status": "completed",
            "output": output,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": usage,
        }


def _in_order(answers: Iterable[Said]) -> Callable[[dict[str, Any]], Said]:
    left: Iterator[Said] = iter(answers)
    last: list[Said] = [500]

    def following(_: dict[str, Any]) -> Said:
        last[0] = next(left, last[0])
        return last[0]

    return following


def _chunks(whole: dict[str, Any], asked: dict[str, Any]) -> Iterator[dict[str, Any]]:
    about = {"id": whole["id"], "object": "chat.completion.chunk", "created": 1, "model": "s"}
    message = whole["choices"][0]["message"]

    def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return {**about, "choices": [choice]}

    yield chunk({"role": "assistant", "content": ""})
    for piece in re.findall(r"\S+\s*", message["content"] or ""):
        yield chunk({"content": piece})
    for index, call in enumerate(message.get("tool_calls") or ()):
        head = {**call["function"], "arguments": ""}
        yield chunk({"tool_calls": [{**call, "index": index, "function": head}]})
        for letter in call["function"]["arguments"]:
            piece = {"index": index, "function": {"arguments": letter}}
            yield chunk({"tool_calls": [piece]})
    yield chunk({}, whole["choices"][0]["finish_reason"])
    if (asked.get("stream_options") or {}).get("include_usage"):
        yield {**about, "choices": [], "usage": whole["usage"]}


def _events(whole: dict[str, Any]) -> Iterator[dict[str, Any]]:
    numbers = iter(range(1_000_000))

    def event(kind: str, **more: Any) -> dict[str, Any]:
        return {"type": f"response.{kind}", "sequence_number": next(numbers), **more}

    yield event("created", response={**whole, "status": "in_progress", "output": []})
    for index, item in enumerate(whole["output"]):
        empty = {**item, "content": []} if item["type"] == "message" else {**item, "arguments": ""}
        yield event("output_item.added", output_index=index, item=empty)
        if item["type"] == "message":
            where = {"item_id": item["id"], "output_index": index, "content_index": 0}
            part = item["content"][0]
            yield event("content_part.added", **where, part={**part, "text": ""})
            for word in part["text"].split(" "):
                yield event("output_text.delta", **where, delta=f"{word} ", logprobs=[])
            yield event("output_text.done", **where, text=part["text"], logprobs=[])
            yield event("content_part.done", **where, part=part)
        yield event("output_item.done", output_index=index, item=item)
    yield event("completed", response=whole)
