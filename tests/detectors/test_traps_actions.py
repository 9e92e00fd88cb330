"""The catalogue of false-alarm traps again, with everything allowed: no healthy run is touched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mastwatch import registry
from mastwatch.events import Event, RunStarted
from mastwatch.interventions import Interventions, read_interventions
from mastwatch.watch import Watch

from . import test_traps_repetition, test_traps_reset, test_traps_termination

Build = Callable[[], Any]
CASES: list[tuple[str, Build, str]] = [
    case
    for module in (test_traps_repetition, test_traps_termination, test_traps_reset)
    for case in module.CASES
]
RULES = [
    {"mode": "*", "action": "halt", "severity": "warn"},
    {"mode": "*", "action": "nudge", "severity": "warn", "at_most": 100, "dry_run": True},
]
DETECTORS = registry.detectors()


def actions_on(events: list[Event]) -> list[tuple[str, str, str]]:
    """What is done to a run that is played as a live one is."""
    done: list[tuple[str, str, str]] = []
    watch = Watch(DETECTORS)
    brake = Interventions(
        read_interventions(RULES, "here", []),
        watch.runs,
        lambda *action: done.append(action),
        watch.renew,
    )
    brake.offer(
        {e.framework for e in events if isinstance(e, RunStarted)} | {""}, ["halt", "nudge"]
    )
    watch.add_sink(brake)
    for event in events:
        watch.publish(event)
        done += [("halt", "", "") for _ in range(brake.halting(event.run_id) and not done)]
    return done


@pytest.mark.parametrize(
    "build",
    [c[1] for c in CASES if c[2] == "silent"],
    ids=[c[0] for c in CASES if c[2] == "silent"],
)
def test_a_healthy_run_is_never_acted_on(build: Build) -> None:
    assert actions_on(list(build())) == []


@pytest.mark.parametrize(
    ("build", "expected"),
    [c[1:] for c in CASES if c[2] in ("warn", "alert")],
    ids=[c[0] for c in CASES if c[2] in ("warn", "alert")],
)
def test_a_run_that_fails_is_acted_on(build: Build, expected: str) -> None:
    """The same brake, so that its silence above says something."""
    results = [(action, result) for action, _, result in actions_on(list(build()))]
    assert results.count(("halt", "done")) == 1
    assert ("nudge", "dry_run") in results
