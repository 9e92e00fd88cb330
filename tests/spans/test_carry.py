"""A run stays one run in threads and pools, and in generators that are left."""

from __future__ import annotations

import asyncio
import functools
import gc
import logging
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from opentelemetry import context as otel_context
from opentelemetry import trace

from mastwatch.allowances import allow, open_allowances
from mastwatch.spans.carry import Carry
from mastwatch.spans.run import Run
from mastwatch.testing import Recording


@pytest.fixture
def carry() -> Iterator[Carry]:
    before = threading.Thread.start, ThreadPoolExecutor.submit
    made = Carry()
    made.start()
    yield made
    made.stop()
    assert (threading.Thread.start, ThreadPoolExecutor.submit) == before


@pytest.fixture
def recording(carry: Carry) -> Recording:
    return Recording()


@pytest.fixture
def run(recording: Recording) -> Iterator[Run]:
    made = recording.emitter.start_run("voyage", framework="custom")
    yield made
    made.finish("completed")
    recording.check()


def by_thread(work: Callable[[], Any]) -> Any:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    assert "run" not in vars(thread)
    return found[0]


def by_timer(work: Callable[[], Any]) -> Any:
    found: list[Any] = []
    timer = threading.Timer(0, lambda: found.append(work()))
    timer.start()
    timer.join()
    return found[0]


class Worker(threading.Thread):
    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__()
        self.work = work

    def run(self) -> None:
        self.found = self.work()


def by_subclass(work: Callable[[], Any]) -> Any:
    worker = Worker(work)
    worker.start()
    worker.join()
    return worker.found


def by_pool(work: Callable[[], Any]) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def by_map(work: Callable[[], Any]) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return next(iter(pool.map(lambda _: work(), [1])))


def by_executor(work: Callable[[], Any]) -> Any:
    async def main() -> Any:
        return await asyncio.get_running_loop().run_in_executor(None, work)

    return asyncio.run(main())


def by_thread_in_pool(work: Callable[[], Any]) -> Any:
    return by_pool(lambda: by_thread(work))


WAYS = [by_thread, by_timer, by_subclass, by_pool, by_map, by_executor, by_thread_in_pool]


@pytest.mark.parametrize("way", WAYS)
def test_a_run_goes_along(way: Any, run: Run, recording: Recording) -> None:
    def work() -> Any:
        found = recording.emitter.current()
        assert found is not None
        found.run.message("pilot", "Steady as she goes.")
        return found, trace.get_current_span()

    with run.attached(), allow("FM-1.3", reason="a test"):
        assert way(work) == (run, run.span)
        assert way(open_allowances.get)
    assert way(recording.emitter.current) is None
    assert way(open_allowances.get) == ()


@pytest.mark.parametrize("way", WAYS)
def test_values_and_exceptions_are_the_caller_s(way: Any, run: Run) -> None:
    value = object()
    with run.attached():
        assert way(lambda: value) is value
        if way in (by_pool, by_map, by_executor):
            error = ValueError("no")
            with pytest.raises(ValueError, match="no") as raised:
                way(functools.partial(_raise, error))
            assert raised.value is error


def _raise(error: Exception) -> None:
    raise error


def test_a_pool_serves_each_caller_by_itself(run: Run, recording: Recording) -> None:
    """The worker that was started for one run's work does other work later."""
    with ThreadPoolExecutor(1) as pool:
        with run.attached():
            assert pool.submit(recording.emitter.current).result() is run
        assert pool.submit(recording.emitter.current).result() is None
        assert pool.submit(otel_context.get_current).result() == {}


def test_a_thread_that_outlives_its_run_is_outside_of_it(recording: Recording) -> None:
    run = recording.emitter.start_run("voyage", framework="custom")
    over = threading.Event()
    found: list[Any] = []

    def work() -> None:
        over.wait(5)
        found.append(recording.emitter.current())

    with run.attached():
        thread = threading.Thread(target=work)
        thread.start()
    run.finish("completed")
    over.set()
    thread.join()
    assert found == [None]


def test_nothing_is_kept_beyond_the_work(recording: Recording) -> None:
    run = recording.emitter.start_run("voyage", framework="custom")
    with ThreadPoolExecutor(1) as pool:
        with run.attached():
            by_thread(lambda: None)
            pool.submit(lambda: None).result()
            thread = threading.Thread(target=lambda: None)
            thread.start()
        thread.join()
        run.finish("completed")
        gone = weakref.ref(run)
        del run
        gc.collect()
        assert gone() is None
        assert not thread.is_alive()


def test_without_a_run_nothing_is_touched(carry: Carry) -> None:
    thread = threading.Thread(target=lambda: None)
    thread.start()
    assert "run" not in vars(thread)
    thread.join()
    with pytest.raises(RuntimeError, match="only be started once"):
        thread.start()


@pytest.mark.parametrize("first", [True, False], ids=["theirs first", "ours first"])
def test_beside_the_official_instrumentation_of_threads(
    first: bool, caplog: pytest.LogCaptureFixture
) -> None:
    theirs: Any = pytest.importorskip("opentelemetry.instrumentation.threading")
    instrumentor, carry = theirs.ThreadingInstrumentor(), Carry()
    starts = [instrumentor.instrument, carry.start]
    for start in starts if first else reversed(starts):
        start()
    recording = Recording()
    run = recording.emitter.start_run("voyage", framework="custom")
    try:
        with run.attached():
            for way in WAYS:
                assert way(recording.emitter.current) is run
                assert way(trace.get_current_span) is run.span
    finally:
        stops = [instrumentor.uninstrument, carry.stop]
        for stop in reversed(stops) if first else stops:
            stop()
        run.finish("completed")
    assert by_thread(recording.emitter.current) is None
    assert caplog.messages == []


def test_wrappers_of_others_stay_and_ours_below_is_inert() -> None:
    carry = Carry()
    carry.start()
    ours = threading.Thread.start
    calls: list[Any] = []

    def theirs(thread: threading.Thread) -> None:
        calls.append(thread)
        ours(thread)

    threading.Thread.start = theirs  # type: ignore[method-assign]
    try:
        carry.stop()
        assert threading.Thread.start is theirs
        recording = Recording()
        run = recording.emitter.start_run("voyage", framework="custom")
        with run.attached():
            assert by_thread(recording.emitter.current) is None
        assert calls
    finally:
        threading.Thread.start = ours.__wrapped__  # type: ignore[attr-defined,method-assign]


async def test_a_generator_left_by_another_task(
    recording: Recording, caplog: pytest.LogCaptureFixture
) -> None:
    """Its block ends in a copy of the context it began in: no token of ours fits there."""
    run = recording.emitter.start_run("voyage", framework="custom")

    async def host() -> AsyncIterator[int]:
        with run.attached():
            yield 1
            yield 2

    stream: Any = host()
    await anext(stream)
    with caplog.at_level(logging.DEBUG):
        await asyncio.create_task(stream.aclose())
        run.finish("abandoned")
    assert "Failed to detach context" not in caplog.text


async def test_a_generator_left_in_another_context(
    recording: Recording, caplog: pytest.LogCaptureFixture
) -> None:
    run = recording.emitter.start_run("voyage", framework="custom")

    async def host() -> AsyncIterator[int]:
        with run.attached():
            yield 1

    stream: Any = host()
    await asyncio.create_task(stream.__anext__())
    with caplog.at_level(logging.DEBUG):
        await stream.aclose()
    run.finish("abandoned")
    assert "Failed to detach context" not in caplog.text
    recording.check()
