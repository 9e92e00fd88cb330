"""Typed fields out of untyped JSON; what is wrong is said in words for a Problem."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import datetime, timezone

_MAX_DEPTH = 64  # of tool arguments: detectors walk them recursively
_NAMES = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "an object",
    type(None): "null",
}


class Malformed(ValueError):
    """A row or run that cannot be used; the text says why."""


def kind(value: object) -> str:
    """What a JSON value is, in words.

    >>> kind([]), kind(None)
    ('a list', 'null')
    """
    return _NAMES.get(type(value), type(value).__name__)


def string(mapping: Mapping[str, object], key: str, default: str | None = None) -> str:
    """A text field; numbers count as text.

    Raises:
        Malformed: It is missing without a default, or no text.
    """
    value = mapping.get(key, default)
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if value is None and default is not None:
        return default
    raise Malformed(f"{key!r} is {'missing' if key not in mapping else kind(value)}, not text")


def identity(mapping: Mapping[str, object], key: str) -> str | None:
    """An id: text or a whole number, else None.

    >>> identity({"id": 7}, "id"), identity({"id": ""}, "id"), identity({}, "id")
    ('7', None, None)
    """
    value = mapping.get(key)
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return str(value) or None


def whole(value: object) -> int | None:
    """A non-negative whole number, else None.

    >>> whole(3), whole(True), whole("3"), whole(3.0)
    (3, None, None, None)
    """
    return value if type(value) is int and value >= 0 else None


def text(value: object) -> str | None:
    """Message content: text, a list of parts, or None for null.

    Raises:
        Malformed: It is anything else.

    >>> text([{"type": "text", "text": "Look: "}, {"type": "image_url"}])
    'Look: [image_url]'
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(_part(part) for part in value)
    raise Malformed(f"'content' is {kind(value)}, not text")


def _part(part: object) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        raise Malformed(f"a part of 'content' is {kind(part)}, not text")
    for key in ("text", "refusal"):
        if isinstance(part.get(key), str):
            return str(part[key])
    return f"[{part.get('type', 'part')}]"


def arguments(value: object) -> object:
    """Tool arguments: parsed where they are JSON text, else as they stand.

    >>> arguments('{"page": 2}'), arguments("page=2"), arguments("")
    ({'page': 2}, 'page=2', '')
    """
    if isinstance(value, str):
        try:
            parsed = scrubbed(json.loads(value)) if value.lstrip()[:1] in ("{", "[") else value
        except (ValueError, RecursionError):
            return value
        return value if _too_deep(parsed) else parsed
    return json.dumps(value) if _too_deep(value) else value


def _too_deep(value: object) -> bool:
    level = [value]
    for _ in range(_MAX_DEPTH):
        level = [
            child
            for item in level
            if isinstance(item, dict | list)
            for child in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return False
    return True


def moment(value: object) -> float | None:
    """Unix seconds from a number or an ISO time (without a zone: UTC); None when it is neither.

    >>> moment("1970-01-01 00:01:00"), moment(60), moment(float("nan")), moment("soon")
    (60.0, 60.0, None, None)
    """
    if isinstance(value, bool) or value is None:
        return None
    try:
        if isinstance(value, int | float):
            seconds = float(value)
        else:
            # 3.10 knows neither "Z" nor fractions of other than 3 or 6 digits.
            read = datetime.fromisoformat(str(value).strip().replace("Z", "+00:00"))
            seconds = (read if read.tzinfo else read.replace(tzinfo=timezone.utc)).timestamp()
    except (ValueError, OverflowError):
        return None
    return seconds if math.isfinite(seconds) else None


def scrubbed(value: object) -> object:
    """A value of JSON with all its texts scrubbed."""
    if isinstance(value, str):
        return value if value.isascii() else scrub(value)
    if isinstance(value, list):
        return [scrubbed(item) for item in value]
    if isinstance(value, dict):
        return {scrubbed(key): scrubbed(item) for key, item in value.items()}
    return value


def scrub(text: str) -> str:
    """Text without halves of surrogate pairs, which no later encoding or hashing would survive."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
