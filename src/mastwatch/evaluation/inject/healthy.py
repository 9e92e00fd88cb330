"""Which runs may serve as hosts."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations

from mastwatch.evaluation.inject.edit import jaccard, units
from mastwatch.evaluation.inject.records import Host, Message, Record

MIN_MESSAGES = 6
_ALIKE = 0.8
_MIN_UNITS = 8


def is_host(record: Record) -> bool:
    """Whether a run is healthy enough to plant a fault in it.

    It must have succeeded, have at least six messages, not have used up its turns (success is not
    health), and hold no repetition of its own. The test for that is naive on purpose and shares
    nothing with the detectors that are to be measured: no two messages of an agent alike at .8,
    no call made twice with the same result.

    >>> is_host({"success": True, "messages": []})
    False
    """
    messages = record.get("messages") or []
    if record.get("success") is not True or len(messages) < MIN_MESSAGES:
        return False
    labels = record.get("labels") or {}
    if any((labels.get("fm") or {}).values()):
        return False
    cap = labels.get("turn_cap")
    if cap is not None and len(messages) >= cap:
        return False
    return not _repeats(Host(record))


def _repeats(host: Host) -> bool:
    said: dict[str, list[str]] = defaultdict(list)
    calls = set()
    for step in host.steps:
        first = step[0]
        if first["role"] != "tool" and not host.is_person(first) and first["content"]:
            said[first["agent"]].append(first["content"])
        if first.get("tool_calls"):
            did = repr([_acts(first), [row["content"] for row in step[1:]]])
            if did in calls:
                return True
            calls.add(did)
    return any(_alike(texts) for texts in said.values())


def _acts(message: Message) -> list[str]:
    return sorted(repr((call.get("name"), call.get("arguments"))) for call in message["tool_calls"])


def _alike(texts: list[str]) -> bool:
    long = [text for text in texts if len(units(text)) >= _MIN_UNITS]
    return any(jaccard(a, b) >= _ALIKE for a, b in combinations(long, 2))
