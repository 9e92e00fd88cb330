"""Events as JSON values and back, for what the rows of a record cannot tell."""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Mapping
from typing import Any, Union

from mastwatch import events
from mastwatch.formats import fields

_TYPE = "type"
_UNIONS = (Union, types.UnionType)
_KNOWN: Mapping[str, type[events.Event]] = {
    kind.__name__: kind
    for kind in vars(events).values()
    if isinstance(kind, type) and issubclass(kind, events.Event) and kind is not events.Event
}


def to_value(event: events.Event) -> dict[str, object]:
    """An event as JSON has it, defaults and the run's id left out.

    >>> to_value(events.HandedOff(run_id="r", index=3, source="a", target="b"))
    {'type': 'HandedOff', 'index': 3, 'source': 'a', 'target': 'b'}
    """
    told = _plain(event)
    assert isinstance(told, dict)
    del told["run_id"]
    return {_TYPE: type(event).__name__, **told}


def from_value(value: object, run_id: str) -> events.Event:
    """The event that ``to_value`` told.

    Raises:
        Malformed: It is none.
    """
    if not isinstance(value, dict):
        raise fields.Malformed(f"is {fields.kind(value)}, not an object")
    kind = _KNOWN.get(str(value.get(_TYPE)))
    if kind is None:
        raise fields.Malformed(f"{_TYPE!r} is none of {', '.join(_KNOWN)}")
    told = {key: item for key, item in value.items() if key != _TYPE}
    event = _made(kind, {**told, "run_id": run_id})
    assert isinstance(event, events.Event)
    return event


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value):
        return {
            one.name: _plain(getattr(value, one.name))
            for one in dataclasses.fields(value)
            if getattr(value, one.name) != _default(one)
        }
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return value


def _default(one: dataclasses.Field[Any]) -> object:
    if one.default_factory is not dataclasses.MISSING:
        return one.default_factory()
    return one.default


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _made(kind: type, told: Mapping[str, object]) -> object:
    """An instance of a dataclass from the values of its fields."""
    hints = _hints(kind)
    unknown = [key for key in told if key not in hints]
    if unknown:
        raise fields.Malformed(f"{kind.__name__} has no field {unknown[0][:40]!r}")
    try:
        return kind(**{key: _typed(hints[key], item, key) for key, item in told.items()})
    except TypeError:
        raise fields.Malformed(f"a field of {kind.__name__} is missing") from None


def _typed(hint: Any, value: object, key: str) -> object:
    """A value as its field wants it."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint is object:
        return value
    if origin in _UNIONS:
        if value is None and type(None) in inner:
            return None
        [hint] = [one for one in inner if one is not type(None)]
        return _typed(hint, value, key)
    if origin is typing.Literal and value in inner:
        return value
    if origin is tuple and isinstance(value, list):
        return tuple(_typed(inner[0], item, key) for item in value)
    if origin is not None and isinstance(value, dict):  # a mapping of texts
        return {name: _typed(inner[1], item, key) for name, item in value.items()}
    if dataclasses.is_dataclass(hint) and isinstance(hint, type) and isinstance(value, dict):
        return _made(hint, value)
    if hint is float and type(value) is int:
        return float(value)
    if origin is None and isinstance(hint, type) and type(value) is hint:
        return value
    raise fields.Malformed(f"{key!r} is {fields.kind(value)}, which it cannot be")
