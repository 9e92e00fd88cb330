"""The tables, as a numbered list of steps; a file of an older release is brought up to date."""

from __future__ import annotations

import sqlite3

from mastwatch.store.base import StoreError

APPLICATION_ID = 0x4D415354  # "MAST": tells our files from those of other programs

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        # The text of a run stands last, so that listing runs does not read it.
        """CREATE TABLE runs (
            run_id TEXT PRIMARY KEY, framework TEXT NOT NULL, release TEXT NOT NULL,
            environment TEXT NOT NULL, conversation_id TEXT, user_id TEXT,
            started REAL, ended REAL, at REAL NOT NULL, added REAL NOT NULL,
            outcome TEXT NOT NULL, success INTEGER, size INTEGER NOT NULL, trace BLOB NOT NULL)""",
        "CREATE INDEX runs_at ON runs (at)",
        "CREATE INDEX runs_added ON runs (added, size)",
        "CREATE INDEX runs_conversation ON runs (conversation_id)",
        "CREATE INDEX runs_user ON runs (user_id)",
        """CREATE TABLE reports (
            run_id TEXT NOT NULL, kind TEXT NOT NULL, created REAL NOT NULL,
            size INTEGER NOT NULL, report BLOB NOT NULL, PRIMARY KEY (run_id, kind))""",
        # due: when anyone may take it. A worker that takes a job puts it off to its lease's end.
        """CREATE TABLE jobs (
            id INTEGER PRIMARY KEY, run_id TEXT NOT NULL, kind TEXT NOT NULL,
            trigger TEXT NOT NULL, attempt INTEGER NOT NULL DEFAULT 0,
            owner TEXT NOT NULL DEFAULT '', due REAL NOT NULL, done INTEGER NOT NULL DEFAULT 0,
            reason TEXT NOT NULL DEFAULT '', UNIQUE (run_id, kind))""",
        "CREATE INDEX jobs_open ON jobs (kind, due) WHERE done = 0",
        """CREATE TABLE spend (
            day TEXT PRIMARY KEY, calls INTEGER NOT NULL, tokens INTEGER NOT NULL,
            usd REAL NOT NULL)""",
        """CREATE TABLE cache (
            key TEXT PRIMARY KEY, added REAL NOT NULL, size INTEGER NOT NULL,
            reply BLOB NOT NULL)""",
        "CREATE INDEX cache_added ON cache (added, size)",
    ),
    (
        # failed: judgings that ended without a report, perhaps by the run's own fault. lost: loans
        # that ran out, because the worker died.
        "ALTER TABLE jobs ADD COLUMN failed INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE jobs ADD COLUMN lost INTEGER NOT NULL DEFAULT 0",
        # The depth of the queue is asked for after every run: it must not read all jobs.
        "CREATE INDEX jobs_done ON jobs (kind) WHERE done = 1",
    ),
)
"""Step n brings a file from version n to n + 1 (``PRAGMA user_version``). Only ever appended to."""


def migrate(connection: sqlite3.Connection) -> None:
    """Bring a file up to date, in one transaction; does nothing to one that is.

    Raises:
        StoreError: The file is newer than this release, or not ours.
    """
    if _version(connection) == len(MIGRATIONS):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Again, now that nobody else can write: another process may have done it meanwhile.
        for step in MIGRATIONS[_version(connection) :]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection) -> int:
    # In this order: another process may be making the tables, and it marks the file with them.
    used = connection.execute("SELECT 1 FROM sqlite_master").fetchone() is not None
    owner: int = connection.execute("PRAGMA application_id").fetchone()[0]
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if used and owner != APPLICATION_ID:
        raise StoreError("it belongs to another program; name a file of its own")
    if version > len(MIGRATIONS):
        raise StoreError(
            f"it was written by a newer mastwatch (schema {version}; this release reads up to "
            f"{len(MIGRATIONS)}); upgrade mastwatch, or name another file"
        )
    return version
