"""Jobs on finished runs: lent for a time, so that those of a dead worker come back by themselves.

Plain functions on a connection; the store puts the transactions around them.
"""

from __future__ import annotations

import sqlite3
from dataclasses import replace

from mastwatch.store.base import Job, JobKind
from mastwatch.store.filters import bindable

_OURS = "run_id = ? AND kind = ? AND owner = ? AND attempt = ? AND done = 0"


def enqueue(
    connection: sqlite3.Connection, run_id: str, kind: JobKind, trigger: str, now: float
) -> bool:
    """Add a job; False when there is one already, done or not, or a report."""
    run_id = bindable(run_id)
    added = connection.execute(
        "INSERT OR IGNORE INTO jobs (run_id, kind, trigger, due) SELECT ?, ?, ?, ? "
        "WHERE NOT EXISTS (SELECT 1 FROM reports WHERE run_id = ? AND kind = ?)",
        (run_id, kind, trigger, now, run_id, kind),
    )
    return added.rowcount == 1


def claim(
    connection: sqlite3.Connection, kind: JobKind, owner: str, seconds: float, now: float
) -> Job | None:
    """Lend out the job that has been due for longest."""
    found = connection.execute(
        "SELECT id, run_id, trigger, attempt, failed, lost + (owner <> '') FROM jobs "
        "WHERE kind = ? AND done = 0 AND due <= ? ORDER BY due, id LIMIT 1",
        (kind, now),
    ).fetchone()
    if found is None:
        return None
    number, run_id, trigger, attempt, failed, lost = found
    until = now + seconds
    connection.execute(
        "UPDATE jobs SET owner = ?, attempt = ?, lost = ?, due = ? WHERE id = ?",
        (owner, attempt + 1, lost, until, number),
    )
    return Job(
        run_id=run_id,
        kind=kind,
        trigger=trigger,
        attempt=attempt + 1,
        failed=failed,
        lost=lost,
        owner=owner,
        until=until,
    )


def renew(connection: sqlite3.Connection, job: Job, until: float) -> Job | None:
    """Lend it out for longer; None when somebody else has it."""
    renewed = connection.execute(f"UPDATE jobs SET due = ? WHERE {_OURS}", (until, *_who(job)))
    return replace(job, until=until) if renewed.rowcount == 1 else None


def finish(connection: sqlite3.Connection, job: Job) -> bool:
    """Mark it done; False when somebody else has it."""
    done = connection.execute(f"UPDATE jobs SET done = 1, owner = '' WHERE {_OURS}", _who(job))
    return done.rowcount == 1


def postpone(
    connection: sqlite3.Connection, job: Job, due: float, reason: str, failed: bool
) -> None:
    """Give it back, unless somebody else has it."""
    connection.execute(
        f"UPDATE jobs SET owner = '', due = ?, reason = ?, failed = failed + ? WHERE {_OURS}",
        (due, reason, failed, *_who(job)),
    )


def queue(connection: sqlite3.Connection, kind: JobKind, now: float) -> dict[str, int]:
    """How many jobs are ``waiting``, ``running`` (lent out, in time) and ``done``."""
    # Each of the three is answered from an index; see the schema.
    still, running, done = connection.execute(
        "SELECT (SELECT COUNT(*) FROM jobs WHERE kind = :kind AND done = 0), "
        "(SELECT COUNT(*) FROM jobs WHERE kind = :kind AND done = 0 AND due > :now "
        "AND owner <> ''), (SELECT COUNT(*) FROM jobs WHERE kind = :kind AND done = 1)",
        {"kind": kind, "now": now},
    ).fetchone()
    return {"waiting": still - running, "running": running, "done": done}


def _who(job: Job) -> tuple[str, str, str, int]:
    return job.run_id, job.kind, job.owner, job.attempt
