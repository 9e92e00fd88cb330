"""Reading JSON that a model wrote: typed values or nothing, never guesses."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from mastwatch.judge.render import visible

ReplyProblem = Literal["refusal", "empty", "truncated", "unparsable", "schema"]
MAX_REPLY = 400_000
"""Characters of a reply that are read; a longer one is no answer to our question."""
WHY_CHARS = 600
_REFUSES = re.compile(
    r"\b(?:i(?:['’]m| am)? (?:sorry|unable|not able|can(?:no|['’])t|won['’]t)|i must decline"
    r"|against my)\b|对不起|抱歉|无法(?:协助|提供)|申し訳|お手伝いできません",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A reply that is no answer."""

    problem: ReplyProblem
    detail: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Quote:
    """A quote as the model gave it: the row it named (None when it named none) and the words."""

    index: int | None
    text: str


class Pairs(dict[str, Any]):
    """A JSON object that remembers keys that came twice.

    Attributes:
        twice: All values of such a key, in order.
    """

    twice: Mapping[str, list[Any]]


def refuses(text: str) -> bool:
    """Whether a reply that cannot be read declines to answer; it holds no JSON then.

    >>> refuses("I'm sorry, but I can't help with that."), refuses("Ignored agent input: yes")
    (True, False)
    """
    return "{" not in text and bool(_REFUSES.search(text[:400]))


def closed(properties: dict[str, Any]) -> dict[str, Any]:
    """JSON schema of an object with these keys, all required, and no other."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def is_clean(text: str) -> bool:
    """Whether a reply is one JSON object and nothing else around it."""
    text = _stripped(text)
    return text.startswith("{") and text.endswith("}")


def one_object(text: str, key: str, kind: type | tuple[type, ...] = object) -> Pairs | Unreadable:
    """The one JSON object of a reply that answers; prose, fences or a BOM around it are passed.

    Args:
        text: The reply.
        key: What an answer must hold.
        kind: What its value must be.
    """
    text = _stripped(text)
    if not text:
        return Unreadable("empty")
    if len(text) > MAX_REPLY:
        return Unreadable("truncated", f"{len(text)} characters")
    found = [value for value in _objects(text) if key in value and isinstance(value[key], kind)]
    if not found:
        return Unreadable("unparsable", f"no JSON object with {key!r}")
    if len(found) > 1:
        return Unreadable("unparsable", f"{len(found)} JSON objects with {key!r}")
    if key in found[0].twice:
        return Unreadable("unparsable", f"{key!r} stands twice in the JSON object")
    return found[0]


def _stripped(text: str) -> str:
    return text.strip().lstrip("\ufeff").strip()


def _pairs(pairs: list[tuple[str, Any]]) -> Pairs:
    made = Pairs(pairs)
    by_key: dict[str, list[Any]] = {}
    for key, value in pairs:
        by_key.setdefault(key, []).append(value)
    made.twice = {key: values for key, values in by_key.items() if len(values) > 1}
    return made


def _objects(text: str) -> list[Pairs]:
    """All JSON objects of a text that stand in no other one."""
    decoder = json.JSONDecoder(object_pairs_hook=_pairs)
    found: list[Pairs] = []
    at = text.find("{")
    tries = 0
    while at >= 0 and tries < 64:
        tries += 1
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at = text.find("{", at + 1)
            continue
        if isinstance(value, Pairs):
            found.append(value)
        at = text.find("{", end)
    return found


def quote(item: object) -> Quote | None:
    """A quote out of a reply, ``{"msg": 17, "quote": "..."}``."""
    if not isinstance(item, dict) or not isinstance(item.get("quote"), str):
        return None
    return Quote(index(item.get("msg")), visible(item["quote"]))


def index(value: object) -> int | None:
    """A row number: 17, 17.0, "17" or "#17"; None for anything else.

    >>> [index(value) for value in (17, 17.0, "#17", True, "seven", 1.5)]
    [17, 17, 17, None, None, None]
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        value = value.strip().lstrip("#")
        return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value if isinstance(value, int) else None


def confidence(value: object) -> float | None:
    """A number from 0 to 1; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value) if 0 <= value <= 1 else None


def words(value: object) -> str:
    """A sentence or two of the model's own, cut and without what a reader would not see."""
    return visible(value[:WHY_CHARS]) if isinstance(value, str) else ""
