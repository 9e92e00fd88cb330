"""FM-1.5: the work is over and the run goes on."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from itertools import combinations, cycle, islice

from mastwatch.evaluation.inject.edit import length
from mastwatch.evaluation.inject.injector import injector
from mastwatch.evaluation.inject.language import phrases
from mastwatch.evaluation.inject.records import (
    Host,
    Message,
    Planted,
    Step,
    again,
    flat,
    say,
)

TOKEN = "TERMINATE"
_WORK_WORDS = 12
_ANSWERS = re.compile(
    r"TERMINATE|###STOP###|\\?\x08?b?oxed\{([^{}]*)\}|SOLUTION_FOUND|FINAL ANSWER|<final_answer>"
)
_PARTING = 3
"""Last steps of a run, which may be its parting words and are no work to go on with."""
_DEFAULT_CAP = 20


@injector("FM-1.5", variants=({"work": 1}, {"work": 2}, {"work": 4}))
def work_after_claim(host: Host, rng: random.Random, *, work: int) -> Planted | None:
    """The lead declares the run over, and the agents go on with work from earlier in the run.

    The claim is appended unless the run ends with one. The first step of work is the fault.
    """
    steps = _claimed(host, rng)
    candidates = [step for step in host.steps[1:-_PARTING] if _is_work(host, step)]
    if not host.agents or not candidates:
        return None
    start = rng.randrange(len(candidates))
    more = [again(candidates[(start + n) % len(candidates)]) for n in range(work)]
    return Planted(flat([*steps, *more]), more[0][0], more[0][0])


@injector("FM-1.5", variants=({"echoes": 2}, {"echoes": 3}, {"echoes": 5}))
def echo_after_claim(host: Host, rng: random.Random, *, echoes: int) -> Planted | None:
    """The lead declares the run over, and the others acknowledge it and declare it over, too.

    One echo is courtesy, so ``earliest`` is the second.
    """
    acks = phrases(host.language)["acks"]
    lines = [TOKEN if n % 2 else rng.choice(acks) for n in range(echoes)]
    made = _in_turn(host, lines, after_lead=True)
    return _appended(_claimed(host, rng), made, 0, 1)


@injector("FM-1.5", variants=({"closings": 3}, {"closings": 5}))
def thanks_after_claim(host: Host, rng: random.Random, *, closings: int) -> Planted | None:
    """The lead declares the run over, and the agents thank each other and say goodbye."""
    return _appended(_claimed(host, rng), _farewells(host, rng, closings, after_lead=True), 0, 1)


@injector("FM-1.5", variants=({"closings": 4}, {"closings": 6}, {"closings": 8}))
def goodbye_loop(host: Host, rng: random.Random, *, closings: int) -> Planted | None:
    """Nobody declares the run over; two or more agents keep saying goodbye.

    Two farewells are manners: the third is the fault, the fourth is ``earliest``.
    """
    steps = [step for step in host.until_stop() if not _claims(step)]
    return _appended(steps, _farewells(host, rng, closings), 2, 3)


@injector("FM-1.5", variants=({"nags": 3}, {"nags": 4}, {"nags": 6}))
def nagger(host: Host, rng: random.Random, *, nags: int) -> Planted | None:
    """A program says the same line over and over while its partner has nothing left to do.

    The replies between come from other runs of the same problem (their closing statements), else
    from a list of reworded "nothing more to add". The second nag is the fault, the third is
    ``earliest``.
    """
    steps = [step for step in host.until_stop() if not _claims(step)]
    if not host.lead or not steps:
        return None
    replies = _replies(host, rng, nags)
    line = rng.choice(phrases(host.language)["nags"])
    made = []
    for n in range(nags):
        made.append(say(host.proxy, line, role="user"))
        made.append(say(host.lead, replies[n % len(replies)]))
    return _appended(steps, made, 2, 4)


@injector("FM-1.5", variants=({},))
def no_claim(host: Host, rng: random.Random) -> Planted | None:
    """Nobody ever declares the run over: verdicts and praise until the cap on turns; only reported.

    Claims and answer markers are taken out of the tail. The talk comes from other runs of the same
    problem where given (their last, tool-free messages), else from a list. Three confirmations are
    an ordinary check, so ``earliest`` is the fourth. The cap goes into ``labels.turn_cap``: the
    host's own, else twice its length.
    """
    rows = [_without_answer(row) for row in flat(host.until_stop()) if not _bare_claim(row)]
    cap = (host.record.get("labels") or {}).get("turn_cap") or max(_DEFAULT_CAP, 2 * len(rows))
    if cap - len(rows) < 4 or not host.lead:
        return None
    lines = _chatter(host, rng, cap - len(rows))
    made = _in_turn(host, lines, everybody=True)
    labels = {"turn_cap": cap}
    return Planted([*rows, *made], made[0], made[3], target=False, labels=labels)


def _appended(
    steps: Sequence[Step], made: list[Message], onset: int, earliest: int
) -> Planted | None:
    if not steps or len(made) <= onset:
        return None
    return Planted([*flat(steps), *made], made[onset], made[min(earliest, len(made) - 1)])


def _claimed(host: Host, rng: random.Random) -> list[Step]:
    """The host's steps, the last a claim of the lead (or of whoever claimed already)."""
    steps = host.until_stop()
    if steps and _claims(steps[-1]):
        return steps
    text = rng.choice(phrases(host.language)["claims"])
    between = rng.choice((" ", "\n", "\n\n"))
    return [*steps, [say(host.lead, f"{text}{between}{TOKEN}")]]


def _claims(step: Step) -> bool:
    last = (step[0]["content"] or "").strip()
    return step[0]["role"] == "assistant" and last.endswith((TOKEN, "###STOP###"))


def _bare_claim(row: Message) -> bool:
    return row["role"] == "assistant" and (row["content"] or "").strip("*_. \n") == TOKEN


def _is_work(host: Host, step: Step) -> bool:
    if not host.by_agent(step) or _claims(step):
        return False
    said = step[0]["content"] or ""
    return bool(step[0].get("tool_calls")) or (
        length(said) >= _WORK_WORDS and not _ANSWERS.search(said)
    )


def _in_turn(
    host: Host, lines: Sequence[str], *, after_lead: bool = False, everybody: bool = False
) -> list[Message]:
    """Lines said in turn by the lead and another agent, or all; a proxy joins one that is alone."""
    others = [agent for agent in host.agents if agent != host.lead]
    speakers = [(host.lead, "assistant"), *((agent, "assistant") for agent in others)]
    if not others:
        speakers.append((host.proxy, "user"))
    turns = cycle(speakers if everybody else speakers[:2])
    if after_lead:
        next(turns)
    return [say(agent, line, role) for line, (agent, role) in zip(lines, turns, strict=False)]


def _farewells(
    host: Host, rng: random.Random, count: int, *, after_lead: bool = False
) -> list[Message]:
    lines = rng.sample(phrases(host.language)["goodbyes"], count)
    return _in_turn(host, lines, after_lead=after_lead)


def _replies(host: Host, rng: random.Random, count: int) -> list[str]:
    theirs = [text for run in host.sisters for text in _last_words(Host(run), 1)]
    if len(set(theirs)) >= count:
        return rng.sample(sorted(set(theirs)), count)
    return list(rng.sample(phrases(host.language)["stalled"], count))


def _chatter(host: Host, rng: random.Random, count: int) -> list[str]:
    theirs = {text for run in host.sisters for text in _last_words(Host(run), 2)}
    # Two at a time: a dozen lines are not enough for a long run, and repeating them is FM-1.3.
    own = [" ".join(two) for two in combinations(phrases(host.language)["chatter"], 2)]
    rng.shuffle(own)
    lines = list(islice(cycle([*sorted(theirs), *own]), count))
    rng.shuffle(lines)
    return lines


def _last_words(run: Host, count: int) -> list[str]:
    """The last messages of a run that are words only, answer markers and tokens taken out."""
    said = [
        step[0]["content"]
        for step in run.until_stop()
        if run.by_agent(step) and not step[0].get("tool_calls") and step[0]["content"]
    ]
    bare = [_unmarked(text) for text in said[-count:]]
    return [text for text in bare if length(text) >= _WORK_WORDS]


def _without_answer(row: Message) -> Message:
    text = row["content"] or ""
    if row["role"] != "assistant" or not _ANSWERS.search(text):
        return row
    return {**row, "content": _unmarked(text)}


def _unmarked(text: str) -> str:
    """A text without tokens and answer markers; the value of a marker stays."""
    return _ANSWERS.sub(lambda match: match.group(1) or "", text).strip()
