"""What was said under a span, handed over in-process by those who do not write it on the span.

Official instrumentors build the messages of a call for a completion hook (see ``tap``), whatever
they export. A text waits here, by its span's id, until the span has ended and is read. Bounded in
number, size and age; nothing is kept while nobody listens.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

from mastwatch import forks

MAX_SPANS = 1_024
MAX_CHARS = 16_000_000
SECONDS = 600.0
_DEPTH = 16


class _Entry(NamedTuple):
    at: float
    chars: int
    said: Mapping[str, Any]


_entries: OrderedDict[str, _Entry] = OrderedDict()  # oldest first
_chars = 0
_drop: Callable[[str], None] | None = None
_lock = forks.lock()  # protects the three above


def listen(drop: Callable[[str], None]) -> None:
    """Keep what is handed over from now on; what is given up is told as ``texts_full``."""
    global _drop
    with _lock:
        _drop = drop


def stop() -> None:
    """Keep nothing any more, and forget what is here."""
    global _drop, _chars
    with _lock:
        _drop, _chars = None, 0
        _entries.clear()


def listening() -> bool:
    """Whether somebody wants to know."""
    return _drop is not None


def put(span_id: str, said: Mapping[str, object]) -> None:
    """Keep what was said under a span; what an earlier ``put`` said of it is added to.

    Args:
        span_id: Hexadecimal.
        said: By attribute name as in the semantic conventions; values are copied as plain data.
    """
    global _chars
    if _drop is None:
        return
    plain = {key: _plain(value) for key, value in said.items() if value}
    if not plain:
        return
    with _lock:
        given_up = _expired()
        before = _entries.pop(span_id, None)
        if before is not None:
            _chars -= before.chars
            plain = {**before.said, **plain}
        entry = _Entry(time.monotonic(), _length(plain), plain)
        _entries[span_id] = entry
        _chars += entry.chars
        while len(_entries) > MAX_SPANS or _chars > MAX_CHARS:
            _chars -= _entries.popitem(last=False)[1].chars
            given_up += 1
        drop = _drop
    for _ in range(given_up):
        if drop is not None:
            drop("texts_full")


def take(span_id: str) -> Mapping[str, Any] | None:
    """What was said under a span, once; None where nobody handed anything over.

    Args:
        span_id: Hexadecimal.

    Returns:
        ``gen_ai.input.messages``, ``gen_ai.output.messages``, ``gen_ai.system_instructions``,
        ``gen_ai.tool.call.arguments``, ``gen_ai.tool.call.result``, as far as they are known, in
        the form of the span attributes of these names: lists and mappings, not JSON.
    """
    global _chars
    with _lock:
        entry = _entries.pop(span_id, None)
        if entry is None:
            return None
        _chars -= entry.chars
        return entry.said


def _expired() -> int:
    """Give up what no span came for; returns how many."""
    global _chars
    count = 0
    oldest = time.monotonic() - SECONDS
    while _entries and (entry := next(iter(_entries.values()))).at < oldest:
        _entries.popitem(last=False)
        _chars -= entry.chars
        count += 1
    return count


def _plain(value: object, depth: int = 0) -> Any:
    """A copy as JSON would hold it: messages are dataclasses that others go on changing."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return str(getattr(value, "value", value))  # roles are members of a str Enum
    if depth >= _DEPTH:
        return None
    if isinstance(value, Mapping):
        return {str(key): _plain(item, depth + 1) for key, item in value.items()}
    if is_dataclass(value):
        parts = ((field.name, getattr(value, field.name)) for field in fields(value))
        return {name: _plain(part, depth + 1) for name, part in parts}
    if isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray, memoryview)):
        return [_plain(item, depth + 1) for item in value]
    return None  # an image, an object of a library: no text


def _length(value: object) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        return sum(len(key) + _length(item) for key, item in value.items())
    return sum(map(_length, value)) if isinstance(value, list) else 8
