"""FM-1.3: several steps go round in a circle."""

from __future__ import annotations

import random
from itertools import product

from mastwatch.evaluation.inject.injector import injector
from mastwatch.evaluation.inject.records import Host, Planted, Step, again, flat
from mastwatch.evaluation.inject.repetition import MIN_WORDS
from mastwatch.evaluation.inject.rewording import edited_call, edited_message

_PERIODS = range(1, 9)
_ROUNDS = (2, 3, 5)


@injector(
    "FM-1.3",
    variants=(
        *({"period": p, "rounds": r} for p, r in product(_PERIODS, _ROUNDS)),
        *({"period": p, "rounds": r, "near": True} for p, r in product(_PERIODS, _ROUNDS)),
    ),
)
def cycle(
    host: Host, rng: random.Random, *, period: int, rounds: int, near: bool = False
) -> Planted | None:
    """The same ``period`` rows, of two or more agents or calls, come round ``rounds`` more times.

    A row is a message or a tool result, a call and its result are never parted. People do not go
    round in circles, so none of their messages is among the rows. ``near``: messages are edited to
    a Jaccard of .80 to .95, results bear fresh ids. With two extra rounds there are three in all:
    ``earliest`` is the last row of the second.
    """
    places = [(a, b) for a in range(1, len(host.steps)) for b in _ends(host, a, period)]
    rng.shuffle(places)
    # A circle in the middle of the run if there is one: short runs may hold it only elsewhere.
    middle = set(host.middle())
    for a, b in sorted(places, key=lambda place: place[1] - 1 not in middle):
        block = host.steps[a:b]
        made = [_round(block, near, host.language, rng) for _ in range(rounds)]
        extra = [one for one in made if one is not None]
        if len(extra) < rounds:
            continue
        inserted = [flat(one) for one in extra]
        first = [_first(step, rng) if near else step for step in block]
        rows = [*flat(host.steps[:a]), *flat(first), *flat(inserted), *flat(host.steps[b:])]
        return Planted(rows, inserted[0][0], inserted[min(1, rounds - 1)][-1])
    return None


def _ends(host: Host, start: int, period: int) -> list[int]:
    """Where a circle of so many rows that begins at a step ends; empty if none does."""
    count, end = 0, start
    while end < len(host.steps) and count < period:
        count += len(host.steps[end])
        end += 1
    block = host.steps[start:end]
    if count != period or not all(_goes_round(host, step) for step in block):
        return []
    return [end] if (_alone(host, block) if period == 1 else _different(block)) else []


def _alone(host: Host, block: list[Step]) -> bool:
    """Period 1 is a message said over and over: not a word that passes the turn on."""
    return host.says(block[0], MIN_WORDS)


def _first(step: Step, rng: random.Random) -> Step:
    """The first round as it would have been: its results bear ids, too."""
    return (edited_call(step, "nonce", rng) or step) if len(step) > 1 else step


def _goes_round(host: Host, step: Step) -> bool:
    first = step[0]
    if first["role"] in ("tool", "system") or host.is_person(first) or host.writes(step):
        return False
    return host.asks_a_tool(step) if len(step) > 1 else bool((first["content"] or "").strip())


def _different(block: list[Step]) -> bool:
    """Whether no step of the circle is another one's copy, and it is more than one step's own."""
    keys = {repr([(r["agent"], r["content"], r.get("tool_calls")) for r in step]) for step in block}
    return len(keys) == len(block) and (len(block) > 1 or len(block[0]) > 1)


def _round(block: list[Step], near: bool, language: str, rng: random.Random) -> list[Step] | None:
    """Another round; None if it was to be edited and nothing in it could be."""
    if not near:
        return [again(step) for step in block]
    edited = [_edited(step, language, rng) for step in block]
    if not any(edited):
        return None
    return [new or again(step) for new, step in zip(edited, block, strict=True)]


def _edited(step: Step, language: str, rng: random.Random) -> Step | None:
    if len(step) > 1:
        return edited_call(step, "nonce", rng)
    if step[0].get("tool_calls") or step[0]["role"] != "assistant":
        return None  # a program's line stays as it is
    return edited_message(step, "words", "near", language, rng)
