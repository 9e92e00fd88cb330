"""Reading single attributes: a value that stands for a missing one is missing."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from typing import Any

ABSENT = frozenset({"", "unknown", "__REDACTED__"})
"""Values that producers write where they have none, or withhold it."""
MAX_PARSED = 1_000_000
"""Longest JSON text that is parsed, in characters: reading a span is the host's time."""


def first(attributes: Mapping[str, Any], *keys: str) -> Any:
    """The first of these attributes that is there and says something.

    >>> first({"a": "unknown", "b": "gpt"}, "a", "b")
    'gpt'
    """
    for key in keys:
        value = attributes.get(key)
        if value is not None and not (isinstance(value, str) and value in ABSENT):
            return value
    return None


def text(attributes: Mapping[str, Any], *keys: str) -> str | None:
    """The first of these attributes that says something, as text."""
    value = first(attributes, *keys)
    return value if value is None or isinstance(value, str) else str(value)


def count(attributes: Mapping[str, Any], *keys: str) -> int | None:
    """The first of these attributes that is a whole number."""
    for key in keys:
        value = attributes.get(key)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value == value:
            return int(value) if abs(value) < 2**63 else None
    return None


def parsed(value: Any) -> Any:
    """A structured value, from JSON text or as it is; None for text that is no JSON.

    >>> parsed('[1]'), parsed((1,)), parsed('no JSON')
    ([1], (1,), None)
    """
    if not isinstance(value, str):
        return value
    if len(value) > MAX_PARSED:
        return None
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def mapping(value: Any) -> Mapping[str, Any]:
    """A JSON object, from text or as it is; empty for everything else."""
    value = parsed(value)
    return value if isinstance(value, Mapping) else {}


def arguments(value: Any) -> object:
    """Arguments of a tool call: parsed JSON, else the raw text; None when they are withheld."""
    if value is None or (isinstance(value, str) and value in ABSENT):
        return None
    found = parsed(value)
    return value if found is None else found


def literal(value: str) -> object:
    """A value from its Python notation, as ``str(inputs)`` writes it; the text where it is none."""
    try:
        return ast.literal_eval(value) if len(value) <= MAX_PARSED else value
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return value


def as_text(value: Any) -> str | None:
    """A tool's result as text; None when it is withheld."""
    if value is None or (isinstance(value, str) and value == "__REDACTED__"):
        return None
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        return str(type(value).__name__)
