"""Runs and reports as rows of the tables, packed and unpacked.

Plain functions on a connection; the store puts the transactions around them.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from mastwatch.store import codec
from mastwatch.store.attribution import Attribution
from mastwatch.store.base import JobKind, RunFilter, StoredRun, StoreError
from mastwatch.store.filters import ATTRIBUTED, JUDGED, bindable, where
from mastwatch.store.report import Report
from mastwatch.store.trace import Trace

Row: TypeAlias = dict[str, Any]
_T = TypeVar("_T")
_LISTED = (
    "run_id, framework, release, environment, conversation_id, user_id, started, ended, outcome, "
    f"success, size, {JUDGED}, {ATTRIBUTED}"
)
_LEVEL = 1  # the higher levels take four times as long for a tenth less


def pack(text: str) -> bytes:
    """Text as it is stored."""
    return zlib.compress(text.encode("utf-8", "surrogatepass"), _LEVEL)


def unpack(data: bytes) -> str:
    """Text that was packed."""
    return zlib.decompress(data).decode("utf-8", "surrogatepass")


def put_run(connection: sqlite3.Connection, row: Row) -> None:
    """Keep a run; one of the same id is replaced and keeps its age."""
    names, marks = ", ".join(row), ", ".join("?" * len(row))
    updates = ", ".join(f"{name} = excluded.{name}" for name in row if name != "added")
    connection.execute(
        f"INSERT INTO runs ({names}) VALUES ({marks}) ON CONFLICT (run_id) DO UPDATE SET {updates}",
        list(row.values()),
    )


def get_run(connection: sqlite3.Connection, run_id: str) -> Trace | None:
    """A run, or None."""
    found = connection.execute(
        "SELECT trace FROM runs WHERE run_id = ?", (bindable(run_id),)
    ).fetchone()
    return None if found is None else _read(codec.trace_from_json, found[0], run_id)


def run_ids(connection: sqlite3.Connection, which: RunFilter) -> list[str]:
    """Ids of runs, newest first."""
    return [row[0] for row in _select(connection, "run_id", which)]


def listing(connection: sqlite3.Connection, which: RunFilter) -> list[StoredRun]:
    """What is known of runs without unpacking them, newest first."""
    return [
        StoredRun(
            run_id=row[0],
            framework=row[1],
            release=row[2],
            environment=row[3],
            conversation_id=row[4],
            user_id=row[5],
            started=row[6],
            ended=row[7],
            outcome=row[8],
            success=None if row[9] is None else bool(row[9]),
            size=row[10],
            judged=bool(row[11]),
            attributed=bool(row[12]),
        )
        for row in _select(connection, _LISTED, which)
    ]


def put_report(connection: sqlite3.Connection, row: Row) -> None:
    """Keep a report in place of an older one."""
    connection.execute(
        "INSERT OR REPLACE INTO reports (run_id, kind, created, size, report) "
        "VALUES (:run_id, :kind, :created, :size, :report)",
        row,
    )


def get_report(connection: sqlite3.Connection, run_id: str) -> Report | None:
    """The judge's report of a run, or None."""
    found = _result(connection, run_id, "judge")
    return None if found is None else _read(codec.report_from_json, found, run_id)


def get_attribution(connection: sqlite3.Connection, run_id: str) -> Attribution | None:
    """The attribution of a run, or None."""
    found = _result(connection, run_id, "attribute")
    return None if found is None else _read(codec.attribution_from_json, found, run_id)


def _result(connection: sqlite3.Connection, run_id: str, kind: JobKind) -> bytes | None:
    found = connection.execute(
        "SELECT report FROM reports WHERE run_id = ? AND kind = ?", (bindable(run_id), kind)
    ).fetchone()
    return None if found is None else found[0]


def _read(read: Callable[[str], _T], data: bytes, run_id: str) -> _T:
    try:
        return read(unpack(data))
    except (ValueError, zlib.error) as error:
        raise StoreError(f"run {run_id!r} cannot be read: {error}") from error


def run_row(trace: Trace, now: float) -> Row:
    """A run as a row; packing takes a while, so do it outside of the transaction."""
    data = pack(codec.trace_to_json(trace))
    at = next((time for time in (trace.ended, trace.started) if time is not None), now)
    row = {
        "run_id": trace.run_id,
        "framework": trace.framework,
        "release": trace.release,
        "environment": trace.environment,
        "conversation_id": trace.conversation_id,
        "user_id": trace.user_id,
        "started": trace.started,
        "ended": trace.ended,
        "at": at,
        "added": now,
        "outcome": trace.outcome,
        "success": trace.success,
        "size": len(data),
        "trace": data,
    }
    return {name: bindable(value) for name, value in row.items()}


def result_row(result: Report | Attribution, now: float) -> Row:
    """A report or attribution as a row; packing takes a while, so do it outside a transaction."""
    kind: JobKind = "judge" if isinstance(result, Report) else "attribute"
    data = pack(codec.result_to_json(result))
    return {
        "run_id": bindable(result.run_id),
        "kind": kind,
        "created": result.created or now,
        "size": len(data),
        "report": data,
    }


def _select(connection: sqlite3.Connection, columns: str, which: RunFilter) -> list[Any]:
    condition, values = where(which)
    limit = -1 if which.limit is None else which.limit
    return connection.execute(
        f"SELECT {columns} FROM runs WHERE {condition} ORDER BY at DESC, rowid DESC LIMIT ?",
        (*values, limit),
    ).fetchall()
