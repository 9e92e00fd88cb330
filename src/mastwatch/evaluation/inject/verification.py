"""FM-3.1, FM-3.2, FM-3.3: ended too early, not checked, or checked wrongly."""

from __future__ import annotations

import random

from mastwatch.evaluation.inject.records import Host, Planted, flat, say
from mastwatch.evaluation.inject.semantic import (
    colleague,
    inserted,
    lines,
    place,
    planted,
    semantic,
)


@semantic("FM-3.1")
def cut_short(host: Host, rng: random.Random) -> Planted | None:
    """The run is cut in its middle, and the lead ends it although points are open."""
    at = place(host, rng, least=3)
    if at is None or not host.lead:
        return None
    fault = say(host.lead, lines(host, "cut_short", rng)[0])
    rows = flat([*host.steps[:at], [fault]])
    return planted(host, rows, fault, "the run ends in its middle with points left open")


@semantic("FM-3.2")
def unchecked(host: Host, rng: random.Random) -> Planted | None:
    """A total is handed over as final, and nobody has checked it."""
    if not host.lead or len(host.steps) < 3:
        return None
    fault = say(host.lead, lines(host, "unchecked", rng, number=rng.randint(1200, 9800))[0])
    rows = inserted(host, len(host.steps) - 1, [fault])
    return planted(host, rows, fault, "a total is delivered as final that nobody checked")


@semantic("FM-3.3")
def wrong_sum(host: Host, rng: random.Random) -> Planted | None:
    """A wrong sum is checked and found right."""
    at = place(host, rng)
    if at is None or not host.lead:
        return None
    items = [rng.randint(11, 89) for _ in range(3)]
    wrong = sum(items) + rng.choice((-10, 10))
    named = dict(zip("abc", items, strict=True))
    said, passed = lines(host, "wrong_sum", rng, wrong=wrong, **named)
    other = colleague(host) or host.lead
    new = [say(host.lead, said), say(other, passed)]
    rows = inserted(host, at, new)
    return planted(host, rows, new[1], f"the sum is {sum(items)}, {wrong} passes")
