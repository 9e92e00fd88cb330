"""What holds for all detectors: runs apart, bounded state, nothing said of withheld text."""

from __future__ import annotations

import gc
import inspect
import sys
from itertools import chain, zip_longest
from types import ModuleType

import pytest

from mastwatch import registry
from mastwatch.detector import Detector
from mastwatch.events import Contract, Event, ToolRequest
from mastwatch.findings import Finding
from mastwatch.signals import Signals
from mastwatch.testing import Script, watched
from mastwatch.watch import Watch

DETECTORS = registry.detectors()


def loop(run: str) -> Script:
    script = Script(run).start("Count the berths of the harbour, please.")
    for n in range(6):
        script.say("mate", "Please look the depth over the bar up in the harbour book.")
        script.call("depth", {"at": "bar"}, "four metres")
        script.say("pilot", "It is written that the bar is four metres deep. TERMINATE")
        script.asks("mate", *[("user", f"line {k}") for k in range(1 + 2 * (n % 4))])
    return script.end()


def long_run(rows: int) -> Script:
    """Forty agents, long messages, calls with and without results, model requests."""
    script = Script("long")
    for n in range(rows // 4):
        agent = f"agent-{n % 40}"
        words = " ".join(f"word{(n * 31 + k * 7) % 5000}" for k in range(150))
        unanswered = [ToolRequest(name="fetch", arguments={"key": n, "note": words[:200]})]
        script.say(agent, f"Message {n} says {words} and ends there.", calls=unanswered)
        script.say("proxy", f"Please go on with part {n % 3} of the work.", role="user")
        script.call("look_up", {"key": n % 700, "note": words[:200]}, f"{words} is the result")
        script.asks(agent, *[("user", f"line {k}") for k in range(n % 50)])
    return script


def test_interleaved_runs_give_what_the_runs_alone_give() -> None:
    one, two = loop("one"), loop("two")
    both = [e for e in chain(*zip_longest(one.events, two.events)) if e is not None]
    alone = {*watched(one.events).findings, *watched(two.events).findings}
    assert alone
    assert alone == {*watched(both).findings}


def test_same_events_give_the_same_findings() -> None:
    assert watched(loop("one").events) == watched(loop("one").events)


def observed(events: list[Event]) -> tuple[Signals, list[Detector]]:
    signals, detectors = Signals("long"), [make() for make in DETECTORS]
    for event in events:
        signals.update(event)
        for detector in detectors:
            detector.observe(event, signals)
    return signals, detectors


def size(*roots: object) -> int:
    """Bytes of everything reachable, classes, functions and modules left out."""
    seen: set[int] = set()
    todo, total = list(roots), 0
    while todo:
        thing = todo.pop()
        if id(thing) in seen or isinstance(thing, (type, ModuleType)) or callable(thing):
            continue
        seen.add(id(thing))
        total += sys.getsizeof(thing)
        todo += gc.get_referents(thing)
    return total


@pytest.mark.slow
def test_state_is_bounded_and_flat() -> None:
    short, long = size(*observed(long_run(2_000).events)), size(*observed(long_run(8_000).events))
    assert long <= 256 * 1024, f"{long / 1024:.0f} KiB"
    assert long <= 1.1 * short


@pytest.mark.parametrize("text", [None, "", "__REDACTED__"])
def test_withheld_and_redacted_text_crashes_nothing(text: str | None) -> None:
    script = Script().start(None)
    for n in range(10):
        script.say("mate", text, kind="human" if n % 3 == 2 else "reply").human("go on")
        script.call("depth", {"at": n}, text)
        script.asks("mate", ("system", text), ("user", text))
    seen = watched(script.end().events)
    assert [f for f in seen.findings if f.severity.label in ("warn", "alert")] == []


def test_unknown_events_are_ignored() -> None:
    class Strange(Event):
        """An event of a later version."""

    assert watched([Strange(run_id="run")]).findings == ()


@pytest.mark.parametrize("make", DETECTORS)
def test_pages_name_the_source(make: type[Detector]) -> None:
    assert make.__doc__
    assert "2503.13657" in make.__doc__
    assert make().mode in make.__doc__


def limits(make: type[Detector]) -> list[str]:
    parameters = inspect.signature(make).parameters.values()
    return [p.name for p in parameters if isinstance(p.default, int)]


@pytest.mark.parametrize(
    ("make", "name"), [(make, name) for make in DETECTORS for name in limits(make)]
)
def test_a_limit_of_one_never_fires_on_the_first(make: type[Detector], name: str) -> None:
    """Trap 39: first message, first call, first failure."""
    watch = Watch([lambda: make(**{name: 1})])
    run = Script().start("Count the 12 berths and the 19 lamps.", contract=Contract(max_messages=1))
    run.task("Count the 12 berths and the 19 lamps.")
    run.say("a", "The first message of this run, of some words.")
    run.call("write_file", {"path": "a"}, "Error: disk full", error="OSError")
    found = [v for event in run.events for v in watch.publish(event)]
    assert [v for v in found if isinstance(v, Finding)] == []
