"""Putting a streamed answer together from its chunks or events."""

from __future__ import annotations

from typing import Protocol

from mastwatch.events import ToolRequest
from mastwatch_instrumentations.openai_sdk.reading import (
    Answer,
    arguments_of,
    field,
    responses_answer,
)

_ENDS = ("response.completed", "response.incomplete", "response.failed")


class Collector(Protocol):
    """Puts one kind of stream together."""

    def add(self, item: object) -> None:
        """Take in what the stream gave."""

    def answer(self) -> Answer:
        """What was said so far."""


class _Call:
    """A tool call that comes in pieces."""

    def __init__(self) -> None:
        self.id = self.name = ""
        self.arguments: list[str] = []


class ChatChunks:
    """A chat completion's chunks: the first choice and the usage."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._calls: dict[int, _Call] = {}
        self._id = self._model = ""
        self._usage: object = None
        self._finished = False

    def add(self, item: object) -> None:
        """Take in a chunk."""
        self._id = self._id or str(field(item, "id") or "")
        self._model = self._model or str(field(item, "model") or "")
        self._usage = field(item, "usage") or self._usage
        for choice in field(item, "choices") or ():
            if field(choice, "index"):
                continue
            delta = field(choice, "delta")
            said = field(delta, "content") or field(delta, "refusal")
            if isinstance(said, str):
                self._text.append(said)
            for piece in field(delta, "tool_calls") or ():
                self._add_call(piece)
            if field(choice, "finish_reason"):
                self._finished = True

    def _add_call(self, piece: object) -> None:
        call = self._calls.setdefault(field(piece, "index") or 0, _Call())
        function = field(piece, "function") or field(piece, "custom")
        call.id = field(piece, "id") or call.id
        call.name = field(function, "name") or call.name
        call.arguments.append(field(function, "arguments") or field(function, "input") or "")

    def answer(self) -> Answer:
        """What was said so far; finished once the model gave a reason to stop."""
        return Answer(
            "".join(self._text),
            tuple(
                ToolRequest(
                    name=call.name,
                    arguments=arguments_of("".join(call.arguments)),
                    call_id=call.id or None,
                )
                for _, call in sorted(self._calls.items())
            ),
            self._id,
            self._model,
            field(self._usage, "prompt_tokens"),
            field(self._usage, "completion_tokens"),
            finished=self._finished,
        )


class ResponseEvents:
    """A response's events: the last one holds all of it."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._last: object = None
        self._error: str | None = None

    def add(self, item: object) -> None:
        """Take in an event."""
        kind = field(item, "type")
        if kind == "response.output_text.delta":
            self._text.append(str(field(item, "delta") or ""))
        elif kind in _ENDS:
            self._last = field(item, "response")
        elif kind == "error":
            self._error = str(field(item, "code") or "error")

    def answer(self) -> Answer:
        """What was said so far."""
        if self._last is not None:
            return responses_answer(self._last)
        failed = self._error is not None
        return Answer("".join(self._text), error=self._error, finished=failed)
