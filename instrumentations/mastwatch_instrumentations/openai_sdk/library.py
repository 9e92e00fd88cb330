"""The SDK's classes that are hooked; imported from where they stand in versions 2.20 to 3."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from mastwatch.instrumentor import DidNotEnable

_HELPERS = (
    ("openai.lib.streaming.chat", "ChatCompletionStream"),
    ("openai.lib.streaming.responses", "ResponseStream"),
)
_RAW = (
    ("openai._response", "APIResponse"),
    ("openai._response", "AsyncAPIResponse"),
)


@dataclass(frozen=True, slots=True)
class Library:
    """The SDK's classes.

    Attributes:
        chat: Resources of chat completions.
        responses: Resources of the responses API.
        streams: What ``stream=True`` returns.
        raw: What ``with_raw_response`` and ``with_streaming_response`` return.
        readers: Methods that read a raw response: owner, name, whether it is a coroutine.
        closers: What can be closed before it is read to its end, and whether that is a coroutine.
    """

    chat: tuple[type, ...]
    responses: tuple[type, ...]
    streams: tuple[type, ...]
    raw: tuple[type, ...]
    readers: tuple[tuple[type, str, bool], ...]
    closers: tuple[tuple[type, bool], ...]


def load() -> Library:
    """Look the classes up.

    Raises:
        DidNotEnable: This SDK lacks what the hooks cannot do without.
    """
    chat = "openai.resources.chat.completions"
    responses = "openai.resources.responses"
    try:
        resources = tuple(
            getattr(import_module(chat), n) for n in ("Completions", "AsyncCompletions")
        )
        others = tuple(
            getattr(import_module(responses), n) for n in ("Responses", "AsyncResponses")
        )
        streams = tuple(getattr(import_module("openai"), n) for n in ("Stream", "AsyncStream"))
    except (ImportError, AttributeError) as error:
        raise DidNotEnable(f"the openai SDK is not as known: {type(error).__name__}") from error
    legacy = _find("openai._legacy_response", "LegacyAPIResponse")
    raw = [_find(*place) for place in _RAW]
    helpers = [
        (_find(module, prefix + name), bool(prefix))
        for module, name in _HELPERS
        for prefix in ("", "Async")
    ]
    closers = [(streams[0], False), (streams[1], True), (raw[0], False), (raw[1], True), *helpers]
    return Library(
        chat=resources,
        responses=others,
        streams=streams,
        raw=tuple(kind for kind in (legacy, *raw) if kind),
        readers=tuple(
            (kind, "parse", waits)
            for kind, waits in ((legacy, False), (raw[0], False), (raw[1], True))
            if kind
        ),
        closers=tuple((kind, waits) for kind, waits in closers if kind),
    )


def _find(module: str, name: str) -> Any:
    """A class of the SDK's that it may have moved; None where it is not found."""
    try:
        return getattr(import_module(module), name, None)
    except ImportError:
        return None
