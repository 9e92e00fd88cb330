"""FM-2.2 to FM-2.6: agents guess, drift, keep things back, ignore each other or themselves."""

from __future__ import annotations

import random

from mastwatch.evaluation.inject.records import Host, Message, Planted, say
from mastwatch.evaluation.inject.semantic import (
    colleague,
    inserted,
    lines,
    place,
    planted,
    semantic,
)


@semantic("FM-2.2")
def guessed_input(host: Host, rng: random.Random) -> Planted | None:
    """A request is unclear, and the agent acts on a guess instead of asking."""
    at = place(host, rng)
    if at is None or not host.lead:
        return None
    asked, done = lines(host, "unclear", rng)
    opener = host.rows[0]
    fault = say(host.lead, done)
    rows = inserted(host, at, [say(opener["agent"], asked, opener["role"]), fault])
    return planted(host, rows, fault, "the request is unclear and the agent guesses")


@semantic("FM-2.3")
def off_topic(host: Host, rng: random.Random) -> Planted | None:
    """The agents talk at length about something the task does not ask for."""
    at = place(host, rng)
    if at is None or not host.lead:
        return None
    speakers = (host.lead, colleague(host) or host.lead)
    told = lines(host, "derailed", rng)
    talk = [say(speakers[n % 2], line) for n, line in enumerate(told)]
    rows = inserted(host, at, talk)
    return planted(host, rows, talk[0], "talk that has nothing to do with the task", sure=talk[4])


@semantic("FM-2.4")
def kept_back(host: Host, rng: random.Random) -> Planted | None:
    """An agent's check brings a warning, it reports nothing, and the other goes on."""
    at, other = place(host, rng), colleague(host)
    if at is None or not host.lead or not other:
        return None
    number = rng.randint(11, 98)
    says, result, silent, goes_on = lines(host, "kept_back", rng, number=number)
    call = {"name": "run_check", "arguments": {"part": number}}
    new: list[Message] = [
        say(other, says, tool_calls=[call]),
        {"agent": "run_check", "role": "tool", "content": result, "tool_name": "run_check"},
        say(other, silent),
        say(host.lead, goes_on),
    ]
    rows = inserted(host, at, new)
    what = f"the check of {other} warned, and {other} said there was nothing"
    return planted(host, rows, new[2], what)


@semantic("FM-2.5")
def correction_ignored(host: Host, rng: random.Random) -> Planted | None:
    """An agent corrects a figure, and the next one goes on with the old figure unasked."""
    at, other = place(host, rng), colleague(host)
    if at is None or not host.lead or not other:
        return None
    right = rng.randint(130, 870)
    correction, goes_on = lines(host, "ignored", rng, right=right, wrong=right - 7)
    new = [say(other, correction), say(host.lead, goes_on)]
    rows = inserted(host, at, new)
    what = f"{other} corrects a figure, and {host.lead} uses the old one"
    return planted(host, rows, new[1], what)


@semantic("FM-2.6")
def other_option(host: Host, rng: random.Random) -> Planted | None:
    """An agent concludes that only one option fits, and carries out the other."""
    at = place(host, rng)
    if at is None or not host.lead:
        return None
    concludes, does = lines(host, "mismatch", rng)
    new = [say(host.lead, concludes), say(host.lead, does)]
    rows = inserted(host, at, new)
    what = "the agent chooses one option and carries out the other"
    return planted(host, rows, new[1], what)
