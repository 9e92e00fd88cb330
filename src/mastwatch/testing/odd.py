"""Runs as no detector expects them, but as sources deliver them: odd texts, missing parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mastwatch.events import (
    Event,
    MessageSent,
    ModelCalled,
    Role,
    RunFinished,
    RunStarted,
    ToolCalled,
    ToolRequest,
    ToolReturned,
)
from mastwatch.testing.script import Script

MEGABYTE = 1_000_000

_TEXTS: dict[str, str | None] = {
    "text is None": None,
    "text is empty": "",
    "text is redacted": "__REDACTED__",
    "text of 1 MB in words": "harbour " * (MEGABYTE // 8),
    "text of 1 MB without a space": "x" * MEGABYTE,
    "text of 1 MB of Chinese": "潮汐表" * (MEGABYTE // 9),
    "text with lone surrogates": "a \ud800 stands \udfff alone in this text of ten words",
    "text of control characters": "\x00\x08\u202e\u200b\ufeff\r\n\t",
    "text of emoji and joiners": "👩‍👩‍👧‍👦 🏴󠁧󠁢󠁳󠁣󠁴󠁿 e\u0301" * 20,
    "text of punctuation": "?!… ;:,. ``` \\boxed{ }",
}


def odd_runs() -> Iterator[tuple[str, Iterable[Event]]]:
    """What is odd about a run, and the run."""
    for about, text in _TEXTS.items():
        yield about, _about_text(text)
    for about, arguments in _arguments().items():
        yield f"arguments are {about}", _about_arguments(arguments)
    yield "parts are missing", _fragments()


def _about_text(text: str | None) -> Script:
    rounds = 1 if text and len(text) > MEGABYTE // 2 else 4
    script = Script().start(text, prompts={"mate": text or ""})
    script.say("user", text, kind="opener", role="user")
    for n in range(rounds):
        asked = [ToolRequest(name="depth", arguments={"at": text, "n": n})]
        script.say("mate", text, calls=asked).call("depth", {"at": text, "n": n}, text)
        script.call("depth", text, text, error="TimeoutError" if n % 2 else "ValueError")
        script.say("pilot", text).say("proxy", text, kind="auto_reply", role="user")
        said: tuple[Role, str | None] = ("user", text)
        script.asks("mate", ("system", text), *[said] * n)
    script.say("user", text, kind="human", role="user").clears("mate").say("mate", text)
    return script.end("limit")


def _arguments() -> dict[str, object]:
    deep: object = "end"
    for _ in range(50):
        deep = {"in": [deep]}
    return {
        "missing": None,
        "a number": 7,
        "a list": [1, None, "two"],
        "broken JSON": '{"path": "a", ',
        "nested 50 deep": deep,
        "no JSON at all": {1: {2}, (3,): b"four", "five": object()},
        "not a number": {"at": float("nan"), "to": float("inf")},
    }


def _about_arguments(arguments: object) -> Script:
    script = Script().start()
    for _ in range(6):
        asked = [ToolRequest(name="depth", arguments=arguments)]
        script.say("mate", "", calls=asked).call("depth", arguments, "four metres")
    return script.end()


def _fragments() -> list[Event]:
    """Events without their others: a result without a call, rows that go back, an end first."""
    run = "run"
    return [
        RunFinished(run_id=run),
        ToolReturned(run_id=run, index=0, agent="", name=""),
        ToolReturned(run_id=run, index=1, agent="mate", name="depth", call_id="unheard of"),
        MessageSent(run_id=run, index=9, sender=""),
        MessageSent(run_id=run, index=3, sender="", tool_calls=(ToolRequest(name=""),)),
        ToolCalled(run_id=run, index=-1, agent="", name=""),
        ToolCalled(run_id=run, index=3, agent="mate", name="depth"),
        ModelCalled(run_id=run, index=-1),
        ModelCalled(run_id=run, index=3, agent="mate", request=()),
        ModelCalled(run_id=run, index=3, agent="mate", error="TimeoutError"),
        RunStarted(run_id=run),
        RunStarted(run_id=run, resumed=True),
        MessageSent(run_id=run, index=0, sender="mate", text="The depth is four metres."),
        RunFinished(run_id=run, outcome="error"),
        Event(run_id=run),
    ]
