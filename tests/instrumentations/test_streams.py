"""Wrapped generators: same items, same laziness, same ends."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import pytest

from mastwatch_instrumentations._patch import Patches
from mastwatch_instrumentations._streams import around_generator, around_stream

inside: ContextVar[bool] = ContextVar("inside", default=False)


class Note:
    """A stream's frame that writes down what it sees."""

    def __init__(self, seen: list[Any]) -> None:
        self.seen = seen

    @contextmanager
    def attached(self) -> Iterator[None]:
        inside.set(True)
        try:
            yield
        finally:
            inside.set(False)

    def item(self, item: Any) -> None:
        self.seen.append(item)

    def done(self, result: Any) -> None:
        self.seen.append("done")

    def failed(self, error: BaseException) -> None:
        self.seen.append(type(error).__name__)


class Library:
    def __init__(self) -> None:
        self.log: list[Any] = []

    def stream(self, count: int) -> Any:
        for n in range(count):
            self.log.append(inside.get())
            try:
                got = yield n
            except KeyError:
                got = "caught"
            finally:
                self.log.append("left")
            if got:
                self.log.append(got)
        if count == 13:
            raise ValueError(count)
        return "end"

    async def a_stream(self, count: int) -> AsyncIterator[Any]:
        for n in range(count):
            await asyncio.sleep(0)
            self.log.append(inside.get())
            try:
                got = yield n
            except KeyError:
                got = "caught"
            finally:
                self.log.append("left")
            if got:
                self.log.append(got)
        if count == 13:
            raise ValueError(count)


@pytest.fixture(params=["hooked", "inert"])
def seen(request: pytest.FixtureRequest) -> Iterator[list[Any] | None]:
    """What the frame saw; None where the hook has been made inert."""
    notes: list[Any] = []
    patches = Patches()
    patches.wrap(Library, "stream", around_generator("test", lambda *_: Note(notes)))
    patches.wrap(Library, "a_stream", around_stream("test", lambda *_: Note(notes)))
    if request.param == "inert":
        for site in patches._sites:
            site.hook = None
    try:
        yield notes if request.param == "hooked" else None
        if request.param == "inert":
            assert notes == []
    finally:
        patches.undo()


def test_kinds_are_kept(seen: Any) -> None:
    assert inspect.isgeneratorfunction(Library.stream)
    assert inspect.isasyncgenfunction(Library.a_stream)


def test_to_the_end(seen: Any) -> None:
    library = Library()
    stream = library.stream(2)
    assert library.log == []
    assert [next(stream), stream.send("sent")] == [0, 1]
    with pytest.raises(StopIteration) as end:
        next(stream)
    assert end.value.value == "end"
    if seen is not None:
        assert seen == [0, 1, "done"]
        assert library.log == [True, "left", "sent", True, "left"]


async def test_to_the_end_in_a_loop(seen: Any) -> None:
    library = Library()
    stream: Any = library.a_stream(2)
    assert library.log == []
    assert [await anext(stream), await stream.asend("sent")] == [0, 1]
    with pytest.raises(StopAsyncIteration):
        await anext(stream)
    if seen is not None:
        assert seen == [0, 1, "done"]
        assert library.log == [True, "left", "sent", True, "left"]


def test_left_early(seen: Any) -> None:
    library = Library()
    for _ in library.stream(3):
        assert not inside.get()
        break
    assert library.log[1:] == ["left"]
    assert seen in (None, [0, "GeneratorExit"])


async def test_left_early_in_a_loop(seen: Any) -> None:
    library = Library()
    stream: Any = library.a_stream(3)
    async for _ in stream:
        assert not inside.get()
        break
    await stream.aclose()
    assert library.log[1:] == ["left"]
    assert seen in (None, [0, "GeneratorExit"])


def test_exceptions_out_and_in(seen: Any) -> None:
    library = Library()
    stream = library.stream(2)
    next(stream)
    assert stream.throw(KeyError()) == 1
    assert "caught" in library.log
    with pytest.raises(ValueError, match="13"):
        list(library.stream(13))
    assert seen is None or seen[-1] == "ValueError"


async def test_exceptions_out_and_in_in_a_loop(seen: Any) -> None:
    library = Library()
    stream: Any = library.a_stream(2)
    await anext(stream)
    assert await stream.athrow(KeyError()) == 1
    assert "caught" in library.log
    with pytest.raises(ValueError, match="13"):
        _ = [item async for item in library.a_stream(13)]
    assert seen is None or seen[-1] == "ValueError"


async def test_cancelled_in_mid_step(seen: Any) -> None:
    task = asyncio.ensure_future(anext(Library().a_stream(1)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen in (None, ["CancelledError"])


def test_loop_that_ends_closes_a_stream_once(capfd: pytest.CaptureFixture[str]) -> None:
    """It would complain of a stream inside ours that is being closed already."""

    class Slow:
        async def stream(self) -> AsyncIterator[int]:
            try:
                yield 1
                yield 2
            finally:
                await asyncio.sleep(0.01)

    async def leave() -> None:
        async for _ in Slow().stream():
            break

    seen: list[Any] = []
    patches = Patches()
    patches.wrap(Slow, "stream", around_stream("test", lambda *_: Note(seen)))
    asyncio.run(leave())
    # A loop that ends may cancel the closing of a stream before it begins (seen on Python 3.13).
    assert seen in ([1, "GeneratorExit"], [1, "CancelledError"])
    assert capfd.readouterr().err == ""
