"""How each setting's raw value, from code, a variable or a file, becomes what it is used as."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def _names(raw: Any) -> tuple[str, ...]:
    if isinstance(raw, Mapping):
        raise TypeError("expected names, not a table; parameters go under [thresholds.<detector>]")
    if isinstance(raw, str):
        raw = [part for part in raw.replace(",", " ").split() if part]
    names = tuple(raw)
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"expected names, not {raw!r}")
    return names


def _four_names(raw: Any) -> tuple[str, ...]:
    names = _names(raw)
    if len(names) > 4:
        raise ValueError(f"at most 4 labels, not {len(names)}")
    return names


def _text(raw: Any) -> str:
    if raw is True:
        return "1"
    return "" if raw is False else str(raw)


def _switch(raw: Any) -> str:
    """A text that turns something on; a word for no, and it is off."""
    word = _text(raw).strip()
    return "" if word.lower() in ("0", "false", "no", "off") else word


def _judge(raw: Any) -> Any:
    """A switch, or the name of a model; or a model itself: a function, a chat model, a client."""
    return _switch(raw) if isinstance(raw, (str, bool, int)) else raw


def _flag(raw: Any) -> bool:
    if isinstance(raw, bool):
        return raw
    word = str(raw).strip().lower()
    if word in ("1", "true", "yes", "on"):
        return True
    if word in ("0", "false", "no", "off"):
        return False
    raise ValueError(f"expected true or false, not {raw!r}")


def _number(kind: Callable[[Any], Any], low: float, high: float) -> Callable[[Any], Any]:
    def read(raw: Any) -> Any:
        try:
            value = kind(raw)
        except (TypeError, ValueError, OverflowError):
            what = "a whole number" if kind is int else "a number"
            raise ValueError(f"expected {what}, not {raw!r}") from None
        if not low <= value <= high:
            raise ValueError(f"expected a number from {low:g} to {high:g}, not {raw!r}")
        return value

    return read


def _metrics(raw: Any) -> str:
    word = str(raw).strip().lower() if raw is not False else "none"
    if word not in ("prometheus", "otlp", "both", "none"):
        raise ValueError(f"expected prometheus, otlp, both or none, not {raw!r}")
    return word


def _toml(raw: Any) -> Any:
    """A structured value; a variable's text is read as a TOML value."""
    return tomllib.loads(f"value = {raw}")["value"] if isinstance(raw, str) else raw


def _table(raw: Any) -> dict[str, Any]:
    value = _toml(raw)
    if not isinstance(value, Mapping):
        raise TypeError(f"expected a table, not {value!r}")
    return dict(value)


def _list(raw: Any) -> tuple[Any, ...]:
    value = _toml(raw)
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"expected a list of tables ([[rules]]), not {value!r}")
    return tuple(value)


def _actions(raw: Any) -> dict[str, Any]:
    """A table; or a list of interventions alone."""
    value = _toml(raw)
    return {"intervene": list(value)} if isinstance(value, (list, tuple)) else _table(value)


READERS: dict[str, Callable[[Any], Any]] = {
    "frameworks": _names,
    "detectors": _names,
    "judge": _judge,
    "judge_options": _table,
    "store": _switch,
    "store_max_days": _number(float, 0, 36_500),
    "store_max_mb": _number(float, 0, 1e7),
    "metrics": _metrics,
    "release": _text,
    "environment": _text,
    "metric_labels": _four_names,
    "prometheus_host": _text,
    "prometheus_port": _number(int, 0, 65_535),
    "prometheus_sd_dir": _text,
    "flush_timeout": _number(float, 0, 60),
    "capture_content": _flag,
    "bridge": _flag,
    "propagate": _flag,
    "run_idle_timeout": _number(float, 1, 86_400 * 30),
    "max_runs": _number(int, 1, 100_000),
    "thresholds": _table,
    "rules": _list,
    "actions": _actions,
}
"""By the setting's name; each raises TypeError or ValueError for what it cannot read."""
