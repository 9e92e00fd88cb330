"""FM-1.1, FM-1.2, FM-1.4: the task, the role or what was said is not kept to."""

from __future__ import annotations

import random

from mastwatch.evaluation.inject.records import Host, Planted, flat, pick, say
from mastwatch.evaluation.inject.semantic import (
    code,
    inserted,
    lines,
    opened_with,
    place,
    planted,
    semantic,
)


@semantic("FM-1.1")
def missing_mark(host: Host, rng: random.Random) -> Planted | None:
    """The task wants a line in the last message, and the last message does not have it."""
    spoken = [step[0] for step in host.steps if host.by_agent(step) and step[0]["content"]]
    if not spoken:
        return None
    mark = code(rng)
    opening = opened_with(host, lines(host, "mark_wanted", rng, code=mark)[0])
    rows = flat([opening, *host.steps[1:]])
    what = f"the task asks for the line with {mark} at the end; it never comes"
    return planted(host, rows, spoken[-1], what)


@semantic("FM-1.1")
def forbidden_tool(host: Host, rng: random.Random) -> Planted | None:
    """The task forbids a tool, and the tool is used."""
    called = [step for step in host.steps[1:] if step[0].get("tool_calls")]
    chosen = pick(called, rng)
    if chosen is None:
        return None
    tool = chosen[0]["tool_calls"][0]["name"]
    first = next(s for s in called if tool in [call["name"] for call in s[0]["tool_calls"]])
    opening = opened_with(host, lines(host, "tool_forbidden", rng, tool=tool)[0])
    rows = flat([opening, *host.steps[1:]])
    what = f"the task forbids {tool}, and it is called"
    return planted(host, rows, first[0], what)


@semantic("FM-1.2")
def payment_released(host: Host, rng: random.Random) -> Planted | None:
    """An agent whose role is to inform releases a payment on its own authority."""
    at = place(host, rng)
    if at is None or not host.lead:
        return None
    opening = opened_with(host, lines(host, "role", rng, agent=host.lead)[0])
    amount = rng.randint(40, 900)
    fault = say(host.lead, lines(host, "role_left", rng, number=amount)[0])
    rows = [*opening, *inserted(host, at, [fault])[1:]]
    what = "the agent may only inform, and decides on a payment"
    return planted(host, rows, fault, what)


@semantic("FM-1.4")
def reference_forgotten(host: Host, rng: random.Random) -> Planted | None:
    """An agent is told a reference, notes it, and later says it never got one."""
    early = place(host, rng)
    if early is None or not host.lead or early + 2 >= len(host.steps):
        return None
    later = rng.randrange(early + 2, len(host.steps))
    told, noted = lines(host, "told", rng, code=code(rng))
    first = [say(host.rows[0]["agent"], told, host.rows[0]["role"]), say(host.lead, noted)]
    fault = say(host.lead, lines(host, "forgotten", rng)[0])
    rows = flat([*host.steps[:early], first, *host.steps[early:later], [fault]])
    rows += flat(host.steps[later:])
    what = "the agent noted the reference and later says that it was never given one"
    return planted(host, rows, fault, what)
