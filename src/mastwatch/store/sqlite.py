"""The store that comes with mastwatch: one SQLite file for any number of processes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from mastwatch.store import filters, jobs, ledger, retention, rows
from mastwatch.store.attribution import Attribution
from mastwatch.store.base import (
    ANY_RUN,
    Job,
    JobKind,
    Limits,
    RunFilter,
    Spend,
    StoredRun,
    StoreError,
)
from mastwatch.store.database import Database
from mastwatch.store.report import Report
from mastwatch.store.retention import KEEP, Retention
from mastwatch.store.trace import Trace

PRUNE_SECONDS = 600.0
"""The bounds are enforced while runs are added, at most this often."""
_TRIM_EVERY = 32  # the bound of the cache, by answers added
_BATCH = 200  # runs forgotten in one transaction: other writers wait for its end


class SqliteStore:
    """Implements ``Store``; the methods that are not explained here are explained there.

    Args:
        path: The file; made, with its directory, when it is first used.
        keep: How long and how much.
        create: Make the file where there is none.
        clock: Unix seconds; tests give their own.
    """

    def __init__(
        self,
        path: Path | str,
        keep: Retention = KEEP,
        *,
        create: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._db = Database(Path(path).absolute(), create=create)
        self._keep = keep
        self._clock = clock
        self._pruned = 0.0
        self._answers = 0

    @property
    def path(self) -> Path:
        """The file."""
        return self._db.path

    def check(self) -> None:
        """Open the file and bring it up to date.

        Raises:
            StoreError: It cannot be used.
        """
        with self._db.reading():
            pass

    def add(self, trace: Trace, *, job: JobKind | None = None, trigger: str = "") -> None:
        """Keep a finished run, and its job, both or neither; they survive a crash after this."""
        now = self._clock()
        row = rows.run_row(trace, now)
        with self._db.writing() as connection:
            rows.put_run(connection, row)
            if job is not None:
                jobs.enqueue(connection, trace.run_id, job, trigger, now)
        if now - self._pruned >= PRUNE_SECONDS:
            self._pruned = now
            with contextlib.suppress(StoreError):  # the run is safe; there is a next time
                self.prune()

    def update_outcome(
        self,
        run_id: str,
        *,
        success: bool | None = None,
        score: float | None = None,
        expected: str | None = None,
        comment: str | None = None,
    ) -> bool:
        """Note what the host said of a run later; False when the run is not here."""
        said = {"success": success, "score": score, "expected": expected, "comment": comment}
        given: dict[str, Any] = {name: value for name, value in said.items() if value is not None}
        with self._db.writing() as connection:
            kept = rows.get_run(connection, run_id)
            if kept is not None:
                rows.put_run(connection, rows.run_row(replace(kept, **given), self._clock()))
            return kept is not None

    def trace(self, run_id: str) -> Trace | None:
        """A run, or None."""
        with self._db.reading() as connection:
            return rows.get_run(connection, run_id)

    def runs(self, which: RunFilter = ANY_RUN) -> Iterator[str]:
        """Ids of runs, newest first."""
        with self._db.reading() as connection:
            return iter(rows.run_ids(connection, which))

    def listing(self, which: RunFilter = ANY_RUN) -> Iterator[StoredRun]:
        """What is known of runs, newest first."""
        with self._db.reading() as connection:
            return iter(rows.listing(connection, which))

    def delete(self, which: RunFilter) -> int:
        """Forget runs with their reports and jobs, and all answers of models; returns how many.

        Raises:
            ValueError: The filter has no condition.
        """
        if not filters.narrows(which):
            raise ValueError("delete() needs a condition: every run would be gone")
        count = self._forget(list(self.runs(which)))
        with self._db.writing() as connection:
            # They quote runs and do not say which; without them a question is asked once more.
            connection.execute("DELETE FROM cache")
        self._db.tidy()
        return count

    def prune(self) -> int:
        """Forget what is over the bounds of age and size, oldest first; returns how many."""
        now = self._clock()
        with self._db.reading() as connection:
            over = retention.excess(connection, self._keep, now)
        count = self._forget(over)
        with self._db.writing() as connection:
            retention.prune_rest(connection, self._keep, now)
        if count:
            self._db.tidy()
        return count

    def _forget(self, run_ids: list[str]) -> int:
        count = 0
        for start in range(0, len(run_ids), _BATCH):
            with self._db.writing() as connection:
                count += retention.forget(connection, run_ids[start : start + _BATCH])
        return count

    def enqueue(self, run_id: str, kind: JobKind, trigger: str) -> bool:
        """Ask for a job; False when there is one already, or a report."""
        with self._db.writing() as connection:
            return jobs.enqueue(connection, run_id, kind, trigger, self._clock())

    def claim(self, kind: JobKind, owner: str, seconds: float) -> Job | None:
        """Borrow the job that has been due for longest, or None."""
        with self._db.writing() as connection:
            return jobs.claim(connection, kind, owner, seconds, self._clock())

    def renew(self, job: Job, seconds: float) -> Job | None:
        """Borrow it longer; None when it was lent to somebody else meanwhile."""
        with self._db.writing() as connection:
            return jobs.renew(connection, job, self._clock() + seconds)

    def finish(
        self, job: Job, result: Report | Attribution, *, then: JobKind | None = None
    ) -> bool:
        """Give the result and end the job, both or neither; False when it is no longer ours."""
        row = rows.result_row(result, self._clock())
        with self._db.writing() as connection:
            ours = jobs.finish(connection, job)
            if ours:
                rows.put_report(connection, row)
            if ours and then is not None:
                jobs.enqueue(connection, job.run_id, then, job.trigger, self._clock())
            return ours

    def postpone(self, job: Job, seconds: float, reason: str, *, failed: bool = False) -> None:
        """Give a job back, to be taken again in so many seconds."""
        with self._db.writing() as connection:
            jobs.postpone(connection, job, self._clock() + seconds, reason, failed)

    def queue(self, kind: JobKind) -> Mapping[str, int]:
        """How many jobs there are: ``waiting``, ``running``, ``done``."""
        with self._db.reading() as connection:
            return jobs.queue(connection, kind, self._clock())

    def report(self, run_id: str) -> Report | None:
        """The judge's report of a run, or None."""
        with self._db.reading() as connection:
            return rows.get_report(connection, run_id)

    def attribution(self, run_id: str) -> Attribution | None:
        """The attribution of a run, or None."""
        with self._db.reading() as connection:
            return rows.get_attribution(connection, run_id)

    def put(self, result: Report | Attribution) -> None:
        """Keep a result that no job asked for; replaces an older one."""
        row = rows.result_row(result, self._clock())
        with self._db.writing() as connection:
            rows.put_report(connection, row)

    def reserve(self, spend: Spend, limits: Limits) -> str:
        """Set aside what a call may cost at most; the day, or empty when it may not."""
        with self._db.writing() as connection:
            day = self._today()
            return day if ledger.reserve(connection, spend, limits, day) else ""

    def settle(self, reserved: Spend, spent: Spend, day: str = "") -> None:
        """Put what a call did cost in place of what was set aside for it."""
        with self._db.writing() as connection:
            ledger.settle(connection, reserved, spent, day or self._today())

    def spent(self) -> Spend:
        """Spent and set aside today."""
        with self._db.reading() as connection:
            return ledger.spent(connection, self._today())

    def cached(self, key: str) -> str | None:
        """A model's earlier answer to the same question, or None."""
        with self._db.reading() as connection:
            found = connection.execute("SELECT reply FROM cache WHERE key = ?", (key,)).fetchone()
        return rows.unpack(found[0]) if found is not None else None

    def cache(self, key: str, reply: str) -> None:
        """Keep a model's answer."""
        data = rows.pack(reply)
        with self._db.writing() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO cache (key, added, size, reply) VALUES (?, ?, ?, ?)",
                (key, self._clock(), len(data), data),
            )
            self._answers += 1
            if self._answers % _TRIM_EVERY == 0:
                retention.trim_cache(connection, self._keep.cache_bytes)

    def close(self) -> None:
        """Let go of the file; the next use opens it again."""
        self._db.close()

    def _today(self) -> str:
        return datetime.fromtimestamp(self._clock(), timezone.utc).strftime("%Y-%m-%d")
