"""Wrapping a class's methods and letting go of them."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from mastwatch import guard
from mastwatch_instrumentations._patch import Instead, Patches, after, around, around_async


class Note:
    """A frame that writes down what it sees."""

    def __init__(self, seen: list[Any]) -> None:
        self.seen = seen

    @contextmanager
    def attached(self) -> Iterator[None]:
        self.seen.append("in")
        yield
        self.seen.append("out")

    def done(self, result: Any) -> None:
        self.seen.append(result)

    def failed(self, error: BaseException) -> None:
        self.seen.append(error)


def library() -> Any:
    class Base:
        def reply(self, text: str) -> str:
            """Answer."""
            if text == "fail":
                raise ValueError(text)
            return text.upper()

        async def a_reply(self, text: str) -> str:
            return self.reply(text)

    class Child(Base):
        pass

    return Base, Child


def test_a_call_is_seen_and_left_as_it_is() -> None:
    base, _ = library()
    seen: list[Any] = []
    patches = Patches()
    assert patches.wrap(base, "reply", around("test", lambda *_: Note(seen)))
    assert base().reply("hi") == "HI"
    assert seen == ["in", "out", "HI"]
    with pytest.raises(ValueError, match="fail") as caught:
        base().reply("fail")
    assert seen[-1] is caught.value
    patches.undo()
    assert base().reply("hi") == "HI"
    assert len(seen) == 6


def test_a_coroutine_method_stays_one() -> None:
    base, _ = library()
    seen: list[Any] = []
    patches = Patches()
    patches.wrap(base, "a_reply", around_async("test", lambda *_: Note(seen)))
    assert inspect.iscoroutinefunction(base.a_reply)
    assert asyncio.run(base().a_reply("hi")) == "HI"
    assert seen == ["in", "out", "HI"]
    patches.undo()
    assert asyncio.run(base().a_reply("hi")) == "HI"


def test_an_inherited_method_is_wrapped_on_the_class_and_taken_off_it() -> None:
    base, child = library()
    seen: list[Any] = []
    patches = Patches()
    patches.wrap(child, "reply", after("test", lambda *call: seen.append(call[-1])))
    base().reply("base")
    child().reply("child")
    assert seen == ["CHILD"]
    patches.undo()
    assert "reply" not in vars(child)


def test_what_is_not_there_is_not_wrapped() -> None:
    base, _ = library()
    assert not Patches().wrap(base, "speak", after("test", lambda *_: None))


def test_a_wrapper_left_below_another_comes_back_to_life() -> None:
    base, _ = library()
    seen: list[Any] = []
    hook = after("test", lambda *call: seen.append(call[-1]))
    first = Patches()
    first.wrap(base, "reply", hook)
    ours = base.reply

    @functools.wraps(ours)
    def theirs(self: Any, text: str) -> str:
        return ours(self, text) + "!"

    base.reply = theirs
    first.undo()
    assert base.reply is theirs
    assert base().reply("a") == "A!"
    assert seen == []
    second = Patches()
    second.wrap(base, "reply", hook)
    assert base.reply is theirs
    base().reply("b")
    assert seen == ["B"]
    second.undo()


def test_no_room_on_the_stack_for_our_own_error_is_no_error_of_the_hosts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_: Any) -> None:
        raise RecursionError

    monkeypatch.delenv("MASTWATCH_RAISE_ERRORS")
    monkeypatch.setattr(guard, "report", full)
    base, _ = library()
    patches = Patches()
    patches.wrap(base, "reply", after("test", full))
    assert base().reply("hi") == "HI"
    patches.undo()


def test_a_call_can_be_answered_instead_of_being_made() -> None:
    calls: list[str] = []

    class Agent:
        def reply(self, text: str) -> str:
            calls.append(text)
            return text

        async def a_reply(self, text: str) -> str:
            calls.append(text)
            return text

    patches = Patches()
    patches.wrap(Agent, "reply", around("test", lambda *_: Instead(None)))
    patches.wrap(Agent, "a_reply", around_async("test", lambda *_: Instead(None)))
    agent = Agent()
    assert agent.reply("one") is None
    assert asyncio.run(agent.a_reply("two")) is None
    assert calls == []
    patches.undo()
    assert agent.reply("three") == "three"
