"""Streams: as lazy as before, of the same type, and over when they are left."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

from opentelemetry import trace

from mastwatch.events import RunStarted
from mastwatch.testing.instrumentors.subject import (
    Subject,
    done,
    in_loop,
    installed,
    outcomes,
    still_open,
    still_open_in_loop,
)
from mastwatch.testing.recording import Recording


def stays_lazy(subject: Subject) -> Iterator[str]:
    """Nothing happens before the first item; then the same items come, from the same type."""
    if not subject.offers("stream"):
        return
    expected, stream_type = _consumed(subject, None)
    recording = Recording()
    with installed(subject.kind, recording):
        early: list[int] = []
        found, found_type = _consumed(subject, lambda: early.append(len(recording.events)))
    if early != [0]:
        yield "stream() tells of a run before its first item is asked for"
    if not issubclass(found_type, stream_type):
        yield f"stream() is a {found_type.__name__} when it is installed, no {stream_type.__name__}"
    if found != expected:
        yield f"stream() gives {len(found)} items when it is installed, else {len(expected)}"
    if count := still_open(recording):
        yield f"{count} runs never end when a stream is read to its end"
    elif set(outcomes(recording)) != {"completed"}:
        yield f"a stream read to its end ends as {', '.join(outcomes(recording)) or 'nothing'}"


def _consumed(subject: Subject, made: Any) -> tuple[list[str], type]:
    """The types of a stream's items and of the stream; ``made`` is called before the first."""

    async def consume() -> tuple[list[str], type]:
        stream = subject.exercise.stream()
        if made is not None:
            made()
        if not isinstance(stream, AsyncIterator):
            return [type(item).__qualname__ for item in stream], type(stream)
        return [type(item).__qualname__ async for item in stream], type(stream)

    value: Any = done(lambda: _run(subject, consume)).value
    return value  # type: ignore[no-any-return]


def _run(subject: Subject, main: Any) -> Any:
    """In a loop where the stream needs one; a synchronous library may want to run its own."""
    if hasattr(subject.exercise.stream(), "__anext__"):
        return in_loop(main())
    coroutine = main()
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("a synchronous stream waited")


def ends_with_a_stream_that_is_left(subject: Subject) -> Iterator[str]:
    """A stream that is closed early ends its run, as abandoned, and leaves the context alone."""
    if not subject.offers("stream"):
        return
    recording = Recording()
    left: list[int] = []

    async def leave() -> None:
        stream = subject.exercise.stream()
        asynchronous = isinstance(stream, AsyncIterator)
        while not recording.of(RunStarted):
            item = await anext(stream, _END) if asynchronous else next(stream, _END)
            if item is _END:
                return
            await _wait(recording) if asynchronous else _wait_here(recording)
        if close := getattr(stream, "aclose" if asynchronous else "close", None):
            await close() if asynchronous else close()
        del stream
        if asynchronous:
            await asyncio.sleep(0)
            left.append(await still_open_in_loop(recording))
        else:
            left.append(still_open(recording))
        if recording.emitter.current() or trace.get_current_span().get_span_context().is_valid:
            left.append(-1)

    with installed(subject.kind, recording):
        done(lambda: _run(subject, leave))
    if not left:
        yield "stream() has no item to be left at, or tells of no run before its end"
    elif left[0]:
        yield f"{left[0]} runs never end when a stream is left"
    elif set(outcomes(recording)) != {"abandoned"}:
        yield f"a stream that is left ends as {', '.join(outcomes(recording))}, not abandoned"
    if left[1:]:
        yield "a scope or span of ours is still current after a stream was left"


_END = object()
_WAITS, _SECONDS = 20, 0.01  # a library may tell of its run from another thread


async def _wait(recording: Recording) -> None:
    for _ in range(_WAITS):
        if not recording.of(RunStarted):
            await asyncio.sleep(_SECONDS)


def _wait_here(recording: Recording) -> None:
    for _ in range(_WAITS):
        if not recording.of(RunStarted):
            time.sleep(_SECONDS)
