"""FM-1.3: a step, a call or a round of steps is taken again and again.

Positions are drawn from the middle of the run (30 to 70 %). ``k`` is the number of copies, ``gap``
the number of the host's own steps between two copies. With k = 2 the step stands there three times,
so ``earliest`` is the second copy. Where the run goes on between copies of a message something is
gained meanwhile, and the figure is only reported; the same call with the same result is a fault
all the same.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import product

from mastwatch.evaluation.inject.edit import sentences, units
from mastwatch.evaluation.inject.injector import injector
from mastwatch.evaluation.inject.language import phrases
from mastwatch.evaluation.inject.records import Host, Planted, Step, again, flat, pick, say
from mastwatch.evaluation.inject.rewording import edited_call, edited_message

MIN_WORDS = 8
"""Words of a message that is worth repeating; two unspaced characters make one."""
NEAR_UNITS = 20
"""Words or characters of one that is edited: in a shorter one every edit is a large part of it."""

Copy = Callable[[Step], "Step | None"]
_GAPS = (0, 1, 3)
_COPIES = (2, 3, 5)
_GRID = tuple({"k": k, "gap": gap} for k, gap in product(_COPIES, _GAPS))


@injector("FM-1.3", variants=_GRID)
def exact_message(host: Host, rng: random.Random, *, k: int, gap: int = 0) -> Planted | None:
    """An agent says the same message again, word for word."""
    at = pick([n for n in _messages(host) if _room(host, n, k, gap)], rng)
    return None if at is None else _repeat(host, at, k, gap, again, target=gap == 0)


@injector(
    "FM-1.3",
    variants=(
        *({"k": k, "edit": e} for k, e in product(_COPIES, ("numbers", "stamp", "words"))),
        *({"k": 3, "edit": "words", "gap": gap} for gap in _GAPS[1:]),
        *({"k": k, "edit": "words", "band": "paraphrase"} for k in _COPIES),
    ),
)
def near_message(
    host: Host,
    rng: random.Random,
    *,
    k: int,
    edit: str = "words",
    gap: int = 0,
    band: str = "near",
) -> Planted | None:
    """An agent says nearly the same message again: other numbers, stamps or a few other words.

    ``edit``: ``numbers`` (digits change), ``stamp`` (time, attempt and id are put around it),
    ``words``. ``band``: ``near`` = 4-gram Jaccard .80 to .95 with the original, ``paraphrase`` =
    .55 to .75, which is only reported.
    """
    long = [n for n in _messages(host) if len(units(host.steps[n][0]["content"])) >= NEAR_UNITS]
    places = [n for n in long if _room(host, n, k, gap)]
    rng.shuffle(places)
    for at in places:
        planted = _repeat(
            host,
            at,
            k,
            gap,
            lambda step: edited_message(step, edit, band, host.language, rng),
            target=gap == 0 and band == "near",
        )
        if planted is not None:
            return planted
    return None


@injector("FM-1.3", variants=_GRID)
def exact_call(host: Host, rng: random.Random, *, k: int, gap: int = 0) -> Planted | None:
    """An agent makes the same call again and gets the same result."""
    at = pick([n for n in _calls(host) if _room(host, n, k, gap, quiet=True)], rng)
    return None if at is None else _repeat(host, at, k, gap, again)


@injector(
    "FM-1.3",
    variants=tuple(
        {"k": k, "gap": gap, "edit": edit}
        for k, gap, edit in (
            *product(_COPIES, (0,), ("keys", "nonce", "result_keys")),
            *product((3,), _GAPS[1:], ("keys", "nonce")),
        )
    ),
)
def near_call(
    host: Host, rng: random.Random, *, k: int, gap: int = 0, edit: str = "keys"
) -> Planted | None:
    """An agent makes the same call again in another guise.

    ``edit``: ``keys`` (arguments in another order, another request id), ``nonce`` (the result, the
    first one too, bears a fresh id and time), ``result_keys`` (the result's JSON keys in another
    order).
    """
    places = [n for n in _calls(host) if _room(host, n, k, gap, quiet=True)]
    rng.shuffle(places)
    for at in places:
        # A tool that puts a fresh id into its results did so the first time, too.
        first = edited_call(host.steps[at], edit, rng) if edit == "nonce" else None
        planted = _repeat(host, at, k, gap, lambda step: edited_call(step, edit, rng), first=first)
        if planted is not None:
            return planted
    return None


@injector(
    "FM-1.3",
    variants=tuple({"k": k, "result": result} for k, result in product((2, 4), ("same", "new"))),
)
def same_call_same_result(
    host: Host, rng: random.Random, *, k: int, result: str = "same"
) -> Planted | None:
    """An earlier call is made again, with the same result, while healthy steps go on.

    No person speaks and nothing is changed in between, else asking again were sound. With
    ``result="new"`` each answer differs: a control, that is polling.
    """
    places = [n for n in _calls(host, anywhere=True) if _room(host, n, k, 1, quiet=True)]
    at = pick(places, rng)
    if at is None:
        return None
    if result == "same":
        return _repeat(host, at, k, 1, again)
    return _repeat(host, at, k, 1, lambda s: edited_call(s, "new_result", rng), control=True)


@injector("FM-1.3", variants=({"k": 4}, {"k": 6}, {"k": 8}))
def stagnation(host: Host, rng: random.Random, *, k: int) -> Planted | None:
    """An agent goes on narrating what was said before, each time put together anew; only reported.

    Each message is a phrase and three or four sentences from earlier in the run; the third is
    ``earliest``.
    """
    at = pick(host.middle(), rng)
    if at is None:
        return None
    words = [row for row in flat(host.steps[:at]) if row["role"] not in ("system", "tool")]
    before = [row["content"] or "" for row in words]
    said = list(dict.fromkeys(s for text in before for s in sentences(text)))
    agent = next((r["agent"] for r in flat(host.steps[:at])[::-1] if r["role"] == "assistant"), "")
    if not agent or len(said) < 3:
        return None
    frames = phrases(host.language)["narration"]
    made = []
    for _ in range(k):
        picked = rng.sample(said, min(len(said), rng.choice((3, 4))))
        made.append(say(agent, " ".join([rng.choice(frames), *picked])))
    rows = [*flat(host.steps[:at]), *made, *flat(host.steps[at:])]
    return Planted(rows, made[0], made[min(2, k - 1)], target=False)


def _messages(host: Host) -> list[int]:
    """Steps in the middle that are one message of an agent, long enough to be told apart."""
    return [n for n in host.middle() if host.says(host.steps[n], MIN_WORDS)]


def _calls(host: Host, *, anywhere: bool = False) -> list[int]:
    """Steps that are calls with their results, and do not change the world."""
    positions = range(1, len(host.steps)) if anywhere else host.middle()
    return [
        n
        for n in positions
        if host.by_agent(host.steps[n])
        and host.asks_a_tool(host.steps[n])
        and not host.writes(host.steps[n])
    ]


def _room(host: Host, at: int, k: int, gap: int, *, quiet: bool = False) -> bool:
    """Whether the run has the steps that are to lie between the copies."""
    last = at + 1 + k * gap
    return last <= len(host.steps) and (not quiet or host.quiet(at + 1, last))


def _repeat(
    host: Host,
    at: int,
    k: int,
    gap: int,
    copy: Copy,
    *,
    first: Step | None = None,
    control: bool = False,
    target: bool = True,
) -> Planted | None:
    """Insert k copies after the step, the host going on for ``gap`` steps before each.

    ``first`` takes the place of the step itself.
    """
    steps: list[Sequence[dict[str, object]]] = list(host.steps[: at + 1])
    if first is not None:
        steps[at] = first
    copies: list[Step] = []
    rest = at + 1
    for _ in range(k):
        made = copy(host.steps[at])
        if made is None:
            return None
        steps += [*host.steps[rest : rest + gap], made]
        copies.append(made)
        rest += gap
    steps += host.steps[rest:]
    sure = copies[min(1, k - 1)]
    return Planted(flat(steps), copies[0][0], sure[-1], control=control, target=target)
