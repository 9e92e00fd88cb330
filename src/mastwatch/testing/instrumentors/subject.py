"""An instrumentor on trial: its exercise, and what that does without it."""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from mastwatch.events import Event, RunFinished, RunStarted
from mastwatch.instrumentor import Instrumentor
from mastwatch.spans.bridge import Bridge
from mastwatch.spans.provider import Providers
from mastwatch.testing.recording import Recording

FAILURE = "a planted failure of the exercise"
_CHANCE = re.compile(r"[0-9a-f]{6,}(?:-[0-9a-f]+)*|\d+(?:\.\d+)?")
_PATIENCE = 2.0  # seconds until what a library does in the background after its end is over


class PlantedError(RuntimeError):
    """What ``Exercise.fail`` is to raise."""

    def __init__(self) -> None:
        super().__init__(FAILURE)


@dataclass(frozen=True)
class Done:
    """What came of a part of the exercise; ``printed`` is None where that varies."""

    value: object
    printed: str | None


@dataclass(frozen=True)
class Subject:
    """An instrumentor, its exercise, and what ``run()`` gives without it."""

    kind: type[Instrumentor]
    exercise: Any
    plain: Done

    def recorded(self) -> Recording:
        """What it tells of one run."""
        recording = Recording()
        with installed(self.kind, recording):
            self.exercise.run()
        return recording

    def offers(self, name: str) -> bool:
        """Whether the exercise has an optional part."""
        return callable(getattr(self.exercise, name, None))

    def patched(self) -> list[tuple[Any, str]]:
        """What ``install()`` wraps, as the exercise says."""
        return list(self.exercise.patched()) if self.offers("patched") else []


@contextmanager
def installed(
    kind: type[Instrumentor], recording: Recording, again: Instrumentor | None = None
) -> Iterator[Instrumentor]:
    """Have it in place for a while: a new one, or ``again`` one that was."""
    instrumentor = again or kind()
    with listening(kind, recording):
        instrumentor.install(recording.emitter)
        try:
            yield instrumentor
        finally:
            instrumentor.uninstall()


@contextmanager
def listening(kind: type[Instrumentor], recording: Recording) -> Iterator[None]:
    """Read the library's own spans, which are recorded, if the instrumentor only switches it on."""
    if not kind.listens:
        yield
        return
    providers, bridge = Providers(1.0, lambda reason: None), Bridge(recording.emitter)
    provider: Any = trace.get_tracer_provider()
    provider.add_span_processor(SimpleSpanProcessor(recording.exporter))
    bridge.start()
    try:
        yield
    finally:
        bridge.close()
        providers.close()


def done(run: Callable[[], object]) -> Done:
    """Run, and keep what it gave and printed; numbers and ids are made alike."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        value = run()
    return Done(value, _CHANCE.sub("#", printed.getvalue()))


def raised(run: Callable[[], object]) -> BaseException | None:
    """What comes out of it, if anything; what it prints is thrown away."""
    try:
        done(run)
    except (Exception, asyncio.CancelledError) as error:
        return error
    return None


def chain(error: BaseException | None, planted: BaseException) -> list[str]:
    """The types of an exception and of those behind it, and where among them the planted one is."""
    found: list[str] = []
    while error is not None and len(found) < 20:
        name = f"{type(error).__module__}.{type(error).__qualname__}"
        found.append("the error itself" if error is planted else name)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return found


def told(recording: Recording) -> Counter[tuple[str, str, str]]:
    """What an instrumentor told, without ids, times and order: parallel agents take turns."""
    return Counter(map(_gist, recording.events))


def difference(here: Counter[Any], there: Counter[Any]) -> str:
    """What one told more often than the other, in few words: kinds and agents, no texts."""
    more = Counter(gist[:2] for gist in (here - there).elements())
    fewer = Counter(gist[:2] for gist in (there - here).elements())
    parts = [f"+{n} {' of '.join(g)}" for g, n in more.items()]
    parts += [f"-{n} {' of '.join(g)}" for g, n in fewer.items()]
    return ", ".join(parts[:6])


def _gist(event: Event) -> tuple[str, str, str]:
    names = ("sender", "agent", "framework")
    who = next((v for name in names if (v := getattr(event, name, ""))), "")
    what = [getattr(event, name, None) for name in ("name", "text", "result", "outcome")]
    return type(event).__name__, who, repr([v for v in what if v])


def still_open(recording: Recording) -> int:
    """How many runs and branches have not ended; what ends in the background gets its time."""
    recording.emitter.histories.close()  # nothing but time ends the run of a bare model call
    deadline = time.monotonic() + _PATIENCE
    while (count := _open(recording)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return count


async def still_open_in_loop(recording: Recording) -> int:
    """The same, within a running loop."""
    recording.emitter.histories.close()  # nothing but time ends the run of a bare model call
    deadline = time.monotonic() + _PATIENCE
    while (count := _open(recording)) and time.monotonic() < deadline:
        await asyncio.sleep(0.01)
    return count


def _open(recording: Recording) -> int:
    begun = Counter((e.run_id, e.branch) for e in recording.of(RunStarted))
    ended = Counter((e.run_id, e.branch) for e in recording.of(RunFinished))
    return sum((begun - ended).values())


def outcomes(recording: Recording) -> list[str]:
    """How its runs, without their branches, ended."""
    return [event.outcome for event in recording.of(RunFinished, branch="")]


def in_loop(main: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine in a loop of its own."""
    return asyncio.run(main)


@contextmanager
def errors_swallowed() -> Iterator[None]:
    """Behave as in production, where errors of ours are counted, and keep the log quiet."""
    loud = os.environ.pop("MASTWATCH_RAISE_ERRORS", None)
    log = logging.getLogger("mastwatch")
    disabled, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = disabled
        if loud is not None:
            os.environ["MASTWATCH_RAISE_ERRORS"] = loud


class Listening(logging.Handler):
    """Collects what is logged while it is attached.

    Args:
        name: Of the logger; all by default.
    """

    def __init__(self, name: str = "", level: int = logging.NOTSET) -> None:
        super().__init__(level)
        self.lines: list[str] = []
        self._log = logging.getLogger(name)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record."""
        self.lines.append(f"{record.name}: {record.getMessage()}")

    def __enter__(self) -> Listening:
        self._log.addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._log.removeHandler(self)
