"""Writes plain data as YAML that people like to read; no library, so that none is needed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

Value: TypeAlias = "str | int | float | bool | Sequence[Value] | Mapping[str, Value]"

_PLAIN = re.compile(r"[A-Za-z_][\w./-]*(?: [\w./-]+)*")
_WORDS_WITH_A_MEANING = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}


def dump(value: Value) -> str:
    r"""The YAML of a value; texts of several lines become block scalars.

    >>> print(dump({"rules": [{"alert": "A", "expr": "x\n> 0", "for": "2m"}]}), end="")
    rules:
      - alert: A
        expr: |-
          x
          > 0
        for: "2m"
    """
    return "\n".join(_lines(value)) + "\n"


def _lines(value: Value) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _entry(f"{_scalar(key)}:", inner)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for inner in value:
            first, *rest = _lines(inner)
            yield f"- {first}"
            yield from (f"  {line}" for line in rest)
    else:
        yield _scalar(value)


def _entry(head: str, value: Value) -> Iterator[str]:
    if isinstance(value, str) and "\n" in value:
        yield f"{head} |-"
        yield from (f"  {line}" if line else "" for line in value.rstrip("\n").split("\n"))
    elif isinstance(value, str | int | float) or not value:
        yield f"{head} {_scalar(value)}"
    else:
        yield head
        yield from (f"  {line}" for line in _lines(value))


def _scalar(value: Value) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value):
        return value if value.lower() not in _WORDS_WITH_A_MEANING else json.dumps(value)
    return json.dumps(value, ensure_ascii=False)
