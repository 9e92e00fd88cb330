"""Naive detectors that every figure is shown beside, and the message count.

A detector that does not beat these is not worth its code. Each floor gives the row at which it
would first have fired, so that a run cut short is scored without another pass.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

Row: TypeAlias = Mapping[str, object]

REPETITION = ("exact repeat", "near repeat", "same call x2", "same call x3")
"""Floors shown beside FM-1.3."""
TERMINATION = (
    "after marker 1",
    "after marker 3",
    "after marker 5",
    "near repeat",
    "nudge x3",
    "after marker 3, nudge x3 or near repeat",
)
"""Floors shown beside FM-1.5."""
RESET = ("opening said again",)
"""Floor shown beside FM-2.1."""
BY_MODE: Mapping[str, tuple[str, ...]] = {
    "FM-1.3": REPETITION,
    "FM-1.5": TERMINATION,
    "FM-2.1": RESET,
}

_MIN_CHARS = 20
_SHINGLE = 5
_NEAR = 0.8
_LOOK_BACK = 30
_OPENING = 0.6
_MIN_SHINGLES = 5
_MARKER = re.compile(
    r"\\boxed\{|terminate|final answer|(?:task|problem) (?:is|has been) (?:completed?|solved)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[a-z]+")
_CHARACTER = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")  # Japanese and Chinese


def spoken(messages: Iterable[Row]) -> list[Row]:
    """The rows that count: private thoughts are none, and would give the ledger's label away."""
    return [row for row in messages if row.get("kind") != "thought"]


def floors(messages: Sequence[Row]) -> dict[str, int]:
    """Where each naive detector first fires in a run.

    Args:
        messages: Rows of a record; thoughts are skipped.

    Returns:
        Row by name of the floor; floors that never fire are absent.
    """
    rows = spoken(messages)
    fired = {
        **_after_marker(rows),
        **_calls(rows),
        "exact repeat": _exact(rows),
        "near repeat": _near(rows),
        "nudge x3": _nudge(rows),
        "opening said again": _opening(rows),
    }
    found = {name: row for name, row in fired.items() if row is not None}
    either = [found[n] for n in ("after marker 3", "nudge x3", "near repeat") if n in found]
    if either:
        found["after marker 3, nudge x3 or near repeat"] = min(either)
    return found


def _index(row: Row) -> int:
    index = row.get("index")
    return index if isinstance(index, int) else 0


def _text(row: Row) -> str:
    content = row.get("content")
    return content.strip() if isinstance(content, str) else ""


def _exact(rows: Sequence[Row]) -> int | None:
    """An agent says the same text (20 characters or more) twice."""
    seen: set[tuple[object, str]] = set()
    for row in rows:
        key = (row.get("agent"), _text(row))
        if row.get("role") != "assistant" or len(key[1]) < _MIN_CHARS:
            continue
        if key in seen:
            return _index(row)
        seen.add(key)
    return None


def _near(rows: Sequence[Row]) -> int | None:
    """Word 5-shingles, digits dropped, agree to .8 with one of the agent's last 30 messages."""
    past: defaultdict[object, deque[frozenset[str]]] = defaultdict(lambda: deque(maxlen=_LOOK_BACK))
    for row in rows:
        if row.get("role") != "assistant":
            continue
        shingles = _shingles(_text(row))
        if len(shingles) < _MIN_SHINGLES:
            continue
        mine = past[row.get("agent")]
        if any(_jaccard(shingles, other) >= _NEAR for other in mine):
            return _index(row)
        mine.append(shingles)
    return None


def _shingles(text: str) -> frozenset[str]:
    words = _WORD.findall(text.lower())
    if len(words) < _SHINGLE + _MIN_SHINGLES - 1:  # too few: a script without spaces, perhaps
        words = _CHARACTER.findall(text)
    return frozenset(" ".join(words[i : i + _SHINGLE]) for i in range(len(words) - _SHINGLE + 1))


def _opening(rows: Sequence[Row]) -> int | None:
    """The first agent says its first message again, word 5-shingles agreeing to .6."""
    first: tuple[object, frozenset[str]] | None = None
    for row in rows:
        if row.get("role") != "assistant" or (first and row.get("agent") != first[0]):
            continue
        shingles = _shingles(_text(row))
        if first is None:
            first = (row.get("agent"), shingles)
        elif len(shingles) >= _MIN_SHINGLES and _jaccard(shingles, first[1]) >= _OPENING:
            return _index(row)
    return None


def _jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    small, large = sorted((len(a), len(b)))
    if small < _OPENING * large:  # no rule asks for less
        return 0.0
    common = len(a & b)
    return common / (small + large - common)


def _calls(rows: Sequence[Row]) -> dict[str, int | None]:
    """The same agent calls the same tool with the same arguments, anywhere in the run."""
    counts: Counter[tuple[object, object, str]] = Counter()
    fired: dict[str, int | None] = {}
    for row in rows:
        calls = row.get("tool_calls")
        for call in calls if isinstance(calls, list) else []:
            if not isinstance(call, dict):
                continue
            arguments = json.dumps(call.get("arguments"), sort_keys=True, default=str)
            key = (row.get("agent"), call.get("name"), arguments)
            counts[key] += 1
            fired.setdefault(f"same call x{counts[key]}", _index(row))
    return {name: fired[name] for name in ("same call x2", "same call x3") if name in fired}


def _after_marker(rows: Sequence[Row]) -> dict[str, int | None]:
    """So many messages after the first one that holds an answer or done marker."""
    for place, row in enumerate(rows):
        if row.get("role") == "assistant" and _MARKER.search(_text(row)):
            later = rows[place + 1 :]
            return {f"after marker {n}": _index(later[n - 1]) for n in (1, 3, 5) if len(later) >= n}
    return {}


def _nudge(rows: Sequence[Row]) -> int | None:
    """The same user or tool text (20 characters or more) three times."""
    counts: Counter[str] = Counter()
    for row in rows:
        text = _text(row)
        if row.get("role") in ("user", "tool") and len(text) >= _MIN_CHARS:
            counts[text] += 1
            if counts[text] == 3:
                return _index(row)
    return None
