"""One SQLite file: private, in WAL mode, a connection per thread, none of them open in a fork.

SQLite notes in the process's memory which locks it holds. A child forked while a connection is open
inherits the notes without the locks: it waits for ever for a lock that nobody holds, or damages the
file. So all connections are closed before a fork, and opened again when they are next used.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mastwatch.store.base import StoreError
from mastwatch.store.gate import Gate
from mastwatch.store.schema import migrate

BUSY_SECONDS = 5.0
"""Longest wait for another writer."""
FORK_SECONDS = 2.0
"""Longest that a fork waits for a statement to end."""
MAX_WAL_BYTES = 16 * 2**20

_databases: weakref.WeakSet[Database] = weakref.WeakSet()
_inherited: list[object] = []  # connections of a parent, never touched: not even to be closed


class Database:
    """The file and its connections.

    Args:
        path: The file.
        create: Make it where there is none.
    """

    def __init__(self, path: Path, *, create: bool = True) -> None:
        self.path = path
        self._create = create
        self._connections: dict[threading.Thread, sqlite3.Connection] = {}
        self._lock = threading.Lock()  # protects _connections
        self._gate = Gate()
        self._spoiled = False
        _databases.add(self)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection for statements that change nothing.

        Raises:
            StoreError: The file cannot be used.
        """
        with self._gate.inside(), self._explained():
            yield self._connection()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction, alone with the file: committed at the end, undone by an exception.

        Raises:
            StoreError: The file cannot be used.
        """
        with self._gate.inside(), self._explained():
            connection = self._connection()
            # At once, not at the first write: two readers that both want to write would deadlock.
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):  # some errors have rolled back already
                    connection.execute("ROLLBACK")
                raise

    def tidy(self) -> None:
        """Give freed pages back, and empty the write-ahead log: it still holds what was deleted."""
        with self.reading() as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            # As a script: execute() would stop after the first page.
            connection.executescript("PRAGMA incremental_vacuum")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        """Close all connections; the next use opens the file again."""
        with self._lock:
            connections = list(self._connections.values())
            self._connections.clear()
        for connection in connections:
            with contextlib.suppress(sqlite3.Error):
                connection.close()

    def before_fork(self) -> None:
        """Have no connection open while the process forks."""
        if self._gate.close(FORK_SECONDS):
            self.close()

    def after_fork(self, *, child: bool) -> None:
        """Go on; a child that did inherit an open connection must not use the file."""
        if child:
            self._spoiled = bool(self._connections)
            _inherited.append(self._connections)
            self._connections = {}
            self._lock = threading.Lock()
            self._gate = Gate()
        else:
            self._gate.open()

    def _connection(self) -> sqlite3.Connection:
        thread = threading.current_thread()
        connection = self._connections.get(thread)
        if connection is None:
            connection = self._open()
            with self._lock:
                self._connections[thread] = connection
                gone = [t for t in self._connections if not t.is_alive() and t is not thread]
                closing = [self._connections.pop(t) for t in gone]
            for old in closing:
                old.close()
        return connection

    def _open(self) -> sqlite3.Connection:
        if self._spoiled:
            raise StoreError("the process was forked while it was written to; restart the worker")
        if not self.path.exists():
            if not self._create:
                raise StoreError("there is no such file; name the store with MASTWATCH_STORE")
            make_private(self.path)
        connection = sqlite3.connect(
            self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # holds for a new file only
            _use_log(connection)
            # A commit survives the end of the process; only a power cut may cost the latest ones.
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute(f"PRAGMA journal_size_limit = {MAX_WAL_BYTES}")
            migrate(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            what = error.strerror if isinstance(error, OSError) else str(error)
            raise StoreError(f"the store {self.path} cannot be used: {what}") from error
        except StoreError as error:
            raise StoreError(f"the store {self.path} cannot be used: {error}") from error


def _use_log(connection: sqlite3.Connection) -> None:
    """Switch to WAL mode; of processes that do so to a new file at once SQLite turns some away."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def make_private(path: Path) -> None:
    """Make an empty file that only its owner may read, and its directory if need be.

    SQLite gives its ``-wal`` and ``-shm`` files the permissions of the file itself.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _before_fork() -> None:
    for database in list(_databases):
        database.before_fork()


def _after_fork(child: bool) -> None:
    for database in list(_databases):
        database.after_fork(child=child)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=lambda: _after_fork(False),
        after_in_child=lambda: _after_fork(True),
    )
