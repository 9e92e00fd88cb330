"""The checks in their order, and what becomes of their complaints."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from pathlib import Path

from mastwatch import _instrument
from mastwatch.instrumentor import Instrumentor
from mastwatch.testing.instrumentors import (
    copies,
    endings,
    faults,
    form,
    fresh,
    lifecycle,
    streams,
    telling,
    transparency,
)
from mastwatch.testing.instrumentors.exercise import Exercise
from mastwatch.testing.instrumentors.subject import Done, Listening, Subject, done

Check = Callable[[Subject], Iterable[str]]

CHECKS: tuple[Check, ...] = (
    transparency.gives_the_same,
    telling.tells_what_happened,
    telling.exports_no_text,
    telling.leaves_spans_to_others,
    telling.begins_anew_each_time,
    endings.lets_errors_through,
    endings.lets_cancelling_through,
    streams.stays_lazy,
    streams.ends_with_a_stream_that_is_left,
    transparency.keeps_what_it_wraps,
    lifecycle.counts_once,
    lifecycle.lets_go,
    lifecycle.leaves_wrappers_of_others,
    faults.keeps_its_errors_to_itself,
    faults.is_silent_where_suppressed,
    copies.lets_agents_be_copied,
    copies.keeps_nothing,
    fresh.agrees_when_installed_first,
)


def check_instrumentor(kind: type[Instrumentor], exercise: Exercise) -> None:
    """Put an instrumentor to its contract; the exercise is run some twenty times.

    Checked are: the class (name, library, distributions, oldest version, entry point); that a run
    gives and prints the same with and without it, raises the same, and is cancelled the same; that
    streams stay lazy and of their type, and one that is left ends the run as ``abandoned``; that it
    tells every text in-process and none on spans, in logs or labels; one span per utterance, tool
    call and model call, one trace per run, all runs ended, the context as before; that it opens no
    span where another producer is active; that installed twice it tells once; that uninstalled it
    is inert and what others wrapped after it stays; that errors of ours never reach the host; that
    it is silent where instrumentation is suppressed; that wrapped functions keep their signature
    and agents can be copied; that nothing made in a run is kept; that it is the same whether
    installed before or after the library is imported.

    Args:
        kind: The class, at the top level of an importable module.
        exercise: How to use the library offline; its class too is importable and made without
            arguments.

    Raises:
        AssertionError: It breaks the contract; the message lists every breach.
        RuntimeError: mastwatch is instrumenting this process already.
    """
    fresh.refuse_to_nest()
    if _instrument.active() is not None:
        raise RuntimeError("call mastwatch.uninstrument() first: everything would be told twice")
    breaches = [*form.is_well_formed(kind), *form.is_an_exercise(exercise)]
    if not breaches:
        with Listening("opentelemetry") as heard:
            breaches += _breaches(Subject(kind, exercise, _plain(exercise)))
        breaches += dict.fromkeys(f"OpenTelemetry complains: {line}" for line in heard.lines)
    if breaches:
        name = getattr(kind, "__name__", repr(kind))
        points = "".join(f"\n- {breach}" for breach in breaches)
        raise AssertionError(f"{name} breaks the contract of instrumentors:{points}")


def _plain(exercise: Exercise) -> Done:
    """What it gives without any instrumentor; an exercise that varies proves nothing."""
    first, second = done(exercise.run), done(exercise.run)
    if first.value != second.value:
        raise AssertionError("the exercise is no use: its run() gives another value each time")
    if first.printed != second.printed:  # a spinner, a duration: then output is not compared
        return Done(first.value, None)
    return first


def _breaches(subject: Subject) -> list[str]:
    told: list[str] = []
    for check in CHECKS:
        try:
            told.extend(check(subject))
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}"
            told.append(f"{check.__name__}: {place} ({error})")
    return told
