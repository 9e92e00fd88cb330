"""FM-2.1 in the model requests: what an agent sends to its model no longer holds what it should.

The recorded runs show no requests, so they are built: for every message an agent wrote, a system
prompt, the task and all that was said before. Utterances stay as they were.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

from mastwatch.evaluation.inject.injector import injector
from mastwatch.evaluation.inject.language import phrases
from mastwatch.evaluation.inject.records import Host, Message, Planted, pick

CHANGES = ("reset", "no_system", "no_task", "trim", "compaction")
"""What happens to the history; the last two are ordinary house-keeping: controls."""
_CONTROLS = ("trim", "compaction")
_KEPT = 4
"""Messages that a trim or a compaction leaves at the end."""
_MIN_LOST = 3
"""Messages that a cut must cost: one that costs only the task is no trim."""


@injector("FM-2.1", variants=tuple({"change": change} for change in CHANGES))
def history(host: Host, rng: random.Random, *, change: str) -> Planted | None:
    """An agent's request history is cut from some request on; the messages stay as they were.

    ``change``: ``reset`` (back to the first request, and on from there), ``no_system``,
    ``no_task``, ``trim`` (system prompt and the last few; a control), ``compaction`` (a summary in
    place of the middle; a control). ``onset`` is the row after which the request was made: that of
    the event. A request that has lost only the task may come from a window that slid by one, so
    there ``earliest`` is the agent's next.

    Raises:
        ValueError: No such change.
    """
    if change not in CHANGES:
        raise ValueError(f"change={change!r}: known are {', '.join(CHANGES)}")
    places = [(agent, row) for agent in speakers(host) for row in _cuts(host, agent)]
    place = pick(places, rng)
    if place is None:
        return None
    agent, at = place
    made = list(requests(host, host.rows, agent, at, change))
    # One message less may be a window that slid for the first time: the next request tells.
    next_at = next(n for n in _own(host.rows, agent) if n > at)
    onset = host.rows[at - 1]
    sure = host.rows[next_at - 1] if change == "no_task" else onset
    return Planted(host.rows, onset, sure, control=change in _CONTROLS, requests=made)


def requests(
    host: Host, rows: Sequence[Message], agent: str = "", at: int = -1, change: str = ""
) -> Iterator[dict[str, Any]]:
    """The model requests of a run; those of one agent cut from a row on.

    Args:
        host: The run that ``rows`` come from.
        rows: Its messages, inserted ones among them.
        agent: Whose requests are cut.
        at: The row before which the first cut request was made.
        change: One of ``CHANGES``; none cuts nothing.
    """
    known = speakers(host)
    for before, row in enumerate(rows):
        name = row["agent"]
        if row["role"] != "assistant" or name not in known:
            continue
        messages = _visible(host, rows, name, 0, before)
        if name == agent and before >= at >= 0:
            messages = _cut(host, rows, name, (at, before), change)
        yield {"before": before, "agent": name, "messages": messages}


def speakers(host: Host) -> list[str]:
    """Agents with a model: who speaks only once may be a greeter."""
    said = [row["agent"] for row in host.rows if row["role"] == "assistant"]
    return [agent for agent in host.agents if said.count(agent) > 1]


def _own(rows: Sequence[Message], agent: str) -> list[int]:
    return [n for n, r in enumerate(rows) if r["role"] == "assistant" and r["agent"] == agent]


def _cuts(host: Host, agent: str) -> list[int]:
    """Requests of an agent in the middle of the run that have something to lose."""
    own = _own(host.rows, agent)
    low, high = len(host.rows) * 0.3, len(host.rows) * 0.7
    return [
        n
        for n in own[2:-1]  # the agent must go on with what is left
        if low <= n <= high
        and n - own[0] >= _MIN_LOST
        and len(_visible(host, host.rows, agent, 0, n)) - 1 >= _KEPT + _MIN_LOST
    ]


def _cut(
    host: Host, rows: Sequence[Message], agent: str, span: tuple[int, int], change: str
) -> list[Message]:
    at, before = span
    whole = _visible(host, rows, agent, 0, before)
    system, task, rest = whole[:1], whole[1:2], whole[2:]
    if change == "no_system":
        return whole[1:]
    if change == "no_task":
        return system + rest
    if change == "trim":
        return system + whole[-_KEPT:]
    since = _visible(host, rows, agent, at, before)[2:]
    first = _own(rows, agent)[0]
    if change == "compaction":
        kept = _visible(host, rows, agent, max(first, at - _KEPT), before)[2:]
        return [*system, *task, {"role": "user", "content": _summary(host)}, *kept]
    return _visible(host, rows, agent, 0, first) + since


def _visible(
    host: Host, rows: Sequence[Message], agent: str, start: int, before: int
) -> list[Message]:
    """System prompt, task and the rows from start up to ``before``, as one agent sees them."""
    own = next((r["content"] for r in rows if r["role"] == "system" and r["content"]), "")
    system = own or phrases(host.language)["system"].format(agent=agent)
    task, opened = _task(host, rows)
    seen = [
        {"role": _role(row, agent), "name": row["agent"], "content": row["content"] or ""}
        for row in rows[max(start, opened) : before]
        if row["role"] != "system"
    ]
    return [{"role": "system", "content": system}, {"role": "user", "content": task}, *seen]


def _task(host: Host, rows: Sequence[Message]) -> tuple[str, int]:
    """What the agents were given, and the first row after it: who opens the run states it."""
    for n, row in enumerate(rows):
        if row["role"] == "user":
            return row["content"], n + 1
        if row["role"] == "assistant":
            break
    return host.task, 0


def _role(row: Message, agent: str) -> str:
    if row["role"] == "tool":
        return "tool"
    return "assistant" if row["agent"] == agent else "user"


def _summary(host: Host) -> str:
    return str(phrases(host.language)["summary"])
