"""Conditions on runs, as SQL."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from mastwatch.store.base import RunFilter

_RESULT = "EXISTS (SELECT 1 FROM reports r WHERE r.run_id = runs.run_id AND r.kind = '{}')"
JUDGED, ATTRIBUTED = _RESULT.format("judge"), _RESULT.format("attribute")
_CONDITIONS = {
    "run_id": "run_id = ?",
    "framework": "framework = ?",
    "release": "release = ?",
    "environment": "environment = ?",
    "conversation_id": "conversation_id = ?",
    "user_id": "user_id = ?",
    "outcome": "outcome = ?",
    "success": "success = ?",
    "since": "at >= ?",
    "until": "at < ?",
    "judged": f"{JUDGED} = ?",
    "attributed": f"{ATTRIBUTED} = ?",
}
assert {f.name for f in fields(RunFilter)} - {"limit"} == set(_CONDITIONS)


def narrows(which: RunFilter) -> bool:
    """Whether it has any condition."""
    return any(getattr(which, name) is not None for name in _CONDITIONS)


def where(which: RunFilter) -> tuple[str, list[object]]:
    """The condition for SQL, after ``WHERE``, and its values; no condition at all is ``1``."""
    given = {name: getattr(which, name) for name in _CONDITIONS}
    given = {name: value for name, value in given.items() if value is not None}
    condition = " AND ".join(_CONDITIONS[name] for name in given) or "1"
    return condition, [bindable(value) for value in given.values()]


def bindable(value: Any) -> Any:
    r"""A value as SQLite takes it: logs hold lone surrogates, which are no UTF-8.

    >>> bindable("a\ud800")
    'a\\ud800'
    """
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    return value
