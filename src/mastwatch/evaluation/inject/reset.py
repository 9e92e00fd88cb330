"""FM-2.1 in the messages: the conversation starts over in mid-run."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product

from mastwatch.evaluation.inject.edit import length, reopened
from mastwatch.evaluation.inject.history import requests
from mastwatch.evaluation.inject.injector import injector
from mastwatch.evaluation.inject.language import phrases
from mastwatch.evaluation.inject.records import Host, Planted, Step, again, flat, pick, say

_OPENING_WORDS = 12
_QUESTION_WORDS = 6
_ENDS_ASKING = ("?", "？", "か。", "吗。")


@injector(
    "FM-2.1",
    variants=tuple(
        {"how": how, "steps": steps, "visible": visible}
        for how, steps, visible in product(("verbatim", "resampled"), (2, 3), (False, True))
    ),
)
def opening_replay(
    host: Host, rng: random.Random, *, how: str, steps: int, visible: bool = False
) -> Planted | None:
    """The lead opens the work a second time with its first two or three steps, then goes on.

    ``how``: ``verbatim``, or ``resampled`` (the opening keeps .5 to .7 of the 3-grams of its first
    40 words). ``visible``: the record shows the model requests, and the lead's start over with
    it: then ``onset`` and ``earliest`` are the row after which that request was made, else the
    opening's first row and its successor.

    Raises:
        ValueError: No such way of replaying.
    """
    if how not in ("verbatim", "resampled"):
        raise ValueError(f"how={how!r}: known are verbatim, resampled")
    own = [n for n, s in enumerate(host.steps) if host.by_agent(s) and s[0]["agent"] == host.lead]
    places = [n for n in host.middle() if sum(o < n for o in own) > steps]
    at = pick(places, rng)
    if at is None or length(host.steps[own[0]][0]["content"] or "") < _OPENING_WORDS:
        return None
    opening = [again(host.steps[n]) for n in own[:steps]]
    if how == "resampled" and not _resample(opening, host.language, rng):
        return None
    rows = flat([*host.steps[:at], *opening, *host.steps[at:]])
    if visible:
        shown = list(requests(host, rows, host.lead, len(flat(host.steps[:at])), "reset"))
        lost = host.steps[at - 1][-1]  # the request is made after this row
        return Planted(rows, lost, lost, requests=shown)
    return Planted(rows, opening[0][0], opening[1][0])


@injector(
    "FM-2.1",
    variants=(
        *({"actions": count, "then": "old"} for count in (2, 3, 5)),
        {"actions": 2, "then": "new"},
    ),
)
def task_reissue(
    host: Host, rng: random.Random, *, actions: int, then: str = "old"
) -> Planted | None:
    """The task is given again in mid-run, and the agents take their first actions again.

    ``then="new"``: they go on with new ones; a control, that is a plan made anew. ``earliest`` is
    the second action that comes back.

    Raises:
        ValueError: No such continuation.
    """
    if then not in ("old", "new"):
        raise ValueError(f"then={then!r}: known are old, new")
    early = [n for n, step in enumerate(host.steps) if _acts(host, step)][:actions]
    places = [n for n in host.middle() if len(early) == actions and n > early[-1]]
    at = pick(places, rng)
    if at is None or length(host.task) < _OPENING_WORDS:
        return None
    task: Step = [say(host.proxy, host.task, role="user")]
    old = [again(host.steps[n]) for n in early] if then == "old" else []
    rows = flat([*host.steps[:at], task, *old, *host.steps[at:]])
    sure = old[min(1, actions - 1)][-1] if old else task[0]
    return Planted(rows, task[0], sure, control=then == "new")


@injector("FM-2.1", variants=({"times": 1}, {"times": 2}))
def asked_again(host: Host, rng: random.Random, *, times: int) -> Planted | None:
    """An agent asks again what it had asked, and gets the answer again; only reported."""
    asked = [n for n in range(1, len(host.steps) - 3) if _question(host, n)]
    at = pick(asked, rng)
    if at is None:
        return None
    later = pick(range(at + 3, len(host.steps) + 1), rng)
    exchange = [again(step) for _ in range(times) for step in host.steps[at : at + 2]]
    rows = flat([*host.steps[:later], *exchange, *host.steps[later:]])
    return Planted(rows, exchange[0][0], exchange[0][0], target=False)


def _acts(host: Host, step: Step) -> bool:
    """An action: a call, or a message with something to say."""
    return host.by_agent(step) and (
        len(step) > 1 or length(step[0]["content"] or "") >= _OPENING_WORDS
    )


def _question(host: Host, at: int) -> bool:
    step, answer = host.steps[at], host.steps[at + 1]
    text = (step[0]["content"] or "").strip()
    return (
        host.by_agent(step)
        and text.endswith(_ENDS_ASKING)
        and length(text) >= _QUESTION_WORDS
        and answer[0]["agent"] != step[0]["agent"]
    )


def _resample(opening: Sequence[Step], language: str, rng: random.Random) -> bool:
    """Reword the first message of an opening in place; say whether that was possible."""
    first = opening[0][0]
    fillers = phrases(language)["fillers"]
    reworded = reopened(first["content"], rng, fillers)
    if reworded is None:
        return False
    first["content"] = reworded
    return True
