"""The table ``[judge]``, its variables and keywords, as one ``JudgeSettings``.

A mistake here stops the judge instead of being ignored: a limit that cannot be read must not
become no limit.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, get_args

from mastwatch.findings import Severity
from mastwatch.judge.settings import (
    AttributionSettings,
    Compat,
    JudgeSettings,
    Profile,
    TraceLimits,
)
from mastwatch.judge.triggers import TRIGGERS
from mastwatch.store import Limits
from mastwatch.store.attribution import METHODS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


class BadJudgeSettings(ValueError):
    """The judge's settings cannot be used; the message says which and why."""


def configured(
    options: Mapping[str, Any], environ: Mapping[str, str] = os.environ
) -> JudgeSettings:
    """Put the judge's settings together.

    Args:
        options: By name, from code, a file or variables; texts are read where something else is
            meant.
        environ: For ``OPENAI_BASE_URL``, which counts where no ``base_url`` is given.

    Raises:
        BadJudgeSettings: A name is unknown or a value cannot be read.

    >>> configured({"model": "small", "sample": "0.1", "per_day": {"calls": 500}}, {}).per_day.calls
    500
    """
    values: dict[str, Any] = {}
    wrong = []
    for name, raw in options.items():
        read = _READERS.get(name)
        if read is None:
            wrong.append(f"{name} is no setting of the judge; known: {', '.join(_READERS)}")
            continue
        try:
            values[name] = read(raw)
        except (TypeError, ValueError) as error:
            wrong.append(f"judge.{name}: {error}")
    if wrong:
        raise BadJudgeSettings("; ".join(wrong))
    if not values.get("base_url") and environ.get("OPENAI_BASE_URL"):
        values["base_url"] = environ["OPENAI_BASE_URL"]
    return _checked(JudgeSettings(**values))


def _checked(settings: JudgeSettings) -> JudgeSettings:
    capped = settings.per_trace.usd is not None or settings.per_day.usd is not None
    if capped and not {"input", "output"} <= set(settings.prices):
        raise BadJudgeSettings(
            "judge: a limit in USD is set and no price is known, so it could not be kept; give "
            "prices, input and output, in USD per million tokens"
        )
    return settings


def _text(raw: Any) -> str:
    if not isinstance(raw, str):
        raise TypeError(f"expected a text, not {raw!r}")
    return raw.strip()


def _flag(raw: Any) -> bool:
    word = str(raw).strip().lower()
    if word in ("1", "true", "yes", "on"):
        return True
    if word in ("0", "false", "no", "off"):
        return False
    raise ValueError(f"expected true or false, not {raw!r}")


def _one_of(*words: str) -> Callable[[Any], str]:
    def read(raw: Any) -> str:
        if raw not in words:
            raise ValueError(f"expected {', '.join(words)}, not {raw!r}")
        return str(raw)

    return read


def _number(kind: type[int] | type[float], low: float, high: float = math.inf) -> Any:
    def read(raw: Any) -> Any:
        if isinstance(raw, bool):
            raise TypeError(f"expected a number, not {raw!r}")
        value = kind(raw)
        if not low <= value <= high:  # false for NaN too
            raise ValueError(f"expected a number of {low:g} to {high:g}, not {raw!r}")
        return value

    return read


def _names(raw: Any) -> tuple[str, ...]:
    if isinstance(raw, str):
        raw = raw.replace(",", " ").split()
    names = tuple(raw)
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"expected names, not {raw!r}")
    return names


def _triggers(raw: Any) -> tuple[str, ...]:
    return tuple(_one_of(*TRIGGERS)(name) for name in _names(raw))


def _table(read: Callable[[Any], Any], *names: str) -> Callable[[Any], dict[str, Any]]:
    """Reads a table of numbers, from a TOML text too; with names given, of these only."""

    def read_table(raw: Any) -> dict[str, Any]:
        table = tomllib.loads(f"table = {raw}")["table"] if isinstance(raw, str) else raw
        if not isinstance(table, Mapping):
            raise TypeError(f"expected a table, not {raw!r}")
        unknown = sorted(set(table) - set(names)) if names else []
        if unknown:
            raise ValueError(f"{', '.join(unknown)} is not known; known: {', '.join(names)}")
        return {name: read(value) for name, value in table.items()}

    return read_table


def _limits(kind: Callable[..., Any]) -> Callable[[Any], Any]:
    read = _table(lambda value: value, "calls", "tokens", "usd")
    whole, money = _number(int, 0), _number(float, 0)

    def read_limits(raw: Any) -> Any:
        if isinstance(raw, kind):  # type: ignore[arg-type]
            return raw
        table = read(raw)
        return kind(**{k: money(v) if k == "usd" else whole(v) for k, v in table.items()})

    return read_limits


def _attribution(raw: Any) -> AttributionSettings:
    """Reads a table, or a word that switches it on or off or names the method."""
    if isinstance(raw, AttributionSettings):
        return raw
    if not isinstance(raw, Mapping):
        word = str(raw).strip()
        raw = {"method": word} if word in METHODS else {"enabled": _flag(raw)}
    unknown = sorted(set(raw) - set(_ATTRIBUTION))
    if unknown:
        raise ValueError(f"{', '.join(unknown)} is not known; known: {', '.join(_ATTRIBUTION)}")
    return AttributionSettings(**{name: _part(name, value) for name, value in raw.items()})


def _part(name: str, raw: Any) -> Any:
    try:
        return _ATTRIBUTION[name](raw)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: {error}") from None


_ATTRIBUTION: dict[str, Callable[[Any], Any]] = {
    "enabled": _flag,
    "method": _one_of(*METHODS),
    "ground_truth": _flag,
    "compat": _one_of(*get_args(Compat)),
    "hints": _flag,
    "candidates": _number(int, 1, 10),
    "neighbours": _number(int, 0, 100),
}
_READERS: dict[str, Callable[[Any], Any]] = {
    "model": _text,
    "base_url": _text,
    "profile": _one_of(*get_args(Profile)),
    "context_tokens": _number(int, 2_000),
    "reply_tokens": _number(int, 100),
    "sampling": _table(_number(float, -math.inf)),
    "timeout": _number(float, 0.1, 3_600),
    "retries": _number(int, 0, 20),
    "concurrency": _number(int, 1, 256),
    "confidence": _number(float, 0, 1),
    "thresholds": _table(_number(float, 0, 1)),
    "language": _text,
    "modes": _names,
    "taxonomy": _text,
    "examples": _text,
    "per_trace": _limits(TraceLimits),
    "per_day": _limits(Limits),
    "prices": _table(_number(float, 0), "input", "output"),
    "triggers": _triggers,
    "severity": lambda raw: Severity.parse(_text(raw)).label,
    "sample": _number(float, 0, 1),
    "in_process": _flag,
    "cache": _flag,
    "attribution": _attribution,
}
assert {f.name for f in fields(JudgeSettings)} == set(_READERS)
