"""What a store forgets: runs that are too old or too many, and those it is told to forget.

Plain functions on a connection; the store puts the transactions around them.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long and how much a store keeps; 0 is no bound.

    Attributes:
        max_days: Runs that were stored longer ago are forgotten.
        max_bytes: Runs and reports together; the runs stored first are forgotten first.
        cache_bytes: Answers of models; the oldest are forgotten first.
    """

    max_days: float = 30.0
    max_bytes: int = 2**30
    cache_bytes: int = 64 * 2**20


KEEP = Retention()


def forget(connection: sqlite3.Connection, run_ids: list[str]) -> int:
    """Delete runs with their reports and jobs; returns how many runs there were."""
    ids = [(run_id,) for run_id in run_ids]
    for table in ("reports", "jobs"):
        connection.executemany(f"DELETE FROM {table} WHERE run_id = ?", ids)
    return connection.executemany("DELETE FROM runs WHERE run_id = ?", ids).rowcount


def excess(connection: sqlite3.Connection, keep: Retention, now: float) -> list[str]:
    """Runs beyond the bounds."""
    over = []
    oldest = now - keep.max_days * 86_400 if keep.max_days else 0.0
    total = 0
    for run_id, added, size in connection.execute(
        "SELECT run_id, added, size + COALESCE("
        "(SELECT SUM(size) FROM reports r WHERE r.run_id = runs.run_id), 0) "
        "FROM runs ORDER BY added DESC, rowid DESC"
    ):
        total += size
        if added < oldest or (keep.max_bytes and total > keep.max_bytes):
            over.append(run_id)
    return over


def prune_rest(connection: sqlite3.Connection, keep: Retention, now: float) -> None:
    """Delete reports without a run, spending and answers that are too old."""
    if keep.max_days:
        oldest = now - keep.max_days * 86_400
        connection.execute(
            "DELETE FROM reports WHERE created < ? AND run_id NOT IN (SELECT run_id FROM runs)",
            (oldest,),
        )
        connection.execute("DELETE FROM cache WHERE added < ?", (oldest,))
    connection.execute(
        "DELETE FROM spend WHERE day < strftime('%Y-%m-%d', ?, 'unixepoch')", (now - 366 * 86_400,)
    )
    trim_cache(connection, keep.cache_bytes)


def trim_cache(connection: sqlite3.Connection, most: int) -> None:
    """Delete the oldest answers of models beyond so many bytes."""
    if not most:
        return
    total = 0
    over = []
    for rowid, size in connection.execute(
        "SELECT rowid, size FROM cache ORDER BY added DESC, rowid DESC"
    ):
        total += size
        if total > most:
            over.append((rowid,))
    connection.executemany("DELETE FROM cache WHERE rowid = ?", over)
