"""The database of AG2's runtime logging (``logger_type="sqlite"``), ``--format ag2-runtime``.

Every message an agent received stands in ``events``, every model call in ``chat_completions``. A
session may hold several chats; each is a run.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

from mastwatch.formats.ag2 import completions
from mastwatch.formats.ag2.dialogue import FRAMEWORK, rows
from mastwatch.formats.ag2.session import Chat, chats
from mastwatch.formats.assembly import recorded_run
from mastwatch.formats.recorded import Problem, Read, Where
from mastwatch.formats.rows import RowProblems, position_id
from mastwatch.formats.source import Source
from mastwatch.formats.transcript import Header

_TABLES = frozenset({"agents", "chat_completions", "events"})


class RuntimeLogFormat:
    """Reader of AG2's runtime logs."""

    name = "ag2-runtime"

    def sniff(self, source: Source) -> bool:
        """A database with the tables of the logger."""
        if source.database is None:
            return False
        try:
            with _opened(source.database) as connection:
                return _tables(connection) >= _TABLES
        except sqlite3.Error:
            return False

    def read(self, source: Source) -> Iterator[Read]:
        """Read all chats of all sessions, one at a time."""
        if source.database is None:
            yield Problem(Where(source.name), "is no SQLite database that can be read by its path")
            return
        record = 0
        try:
            with _opened(source.database) as connection:
                missing = _TABLES - _tables(connection)
                if missing:
                    names = ", ".join(sorted(missing))
                    yield Problem(Where(source.name), f"is a database without the tables {names}")
                    return
                for chat in chats(connection):
                    record += 1
                    yield from _run(connection, chat, Where(source.name, None, record))
        except sqlite3.Error as error:
            yield Problem(Where(source.name), f"the database cannot be read further ({error})")
        if not record:
            yield Problem(Where(source.name), "holds no message that an agent received")


@contextmanager
def _opened(path: str) -> Iterator[sqlite3.Connection]:
    """A connection that changes nothing, closed at the end."""
    connection = sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True)
    # Bytes that are no UTF-8 cost their place, not the row.
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    try:
        yield connection
    finally:
        connection.close()


def _tables(connection: sqlite3.Connection) -> set[str]:
    found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    return {name for (name,) in found}


def _run(connection: sqlite3.Connection, chat: Chat, where: Where) -> Iterator[Read]:
    header = Header(
        run_id=f"{chat.session}#{chat.number}" if chat.session else position_id(where),
        name=FRAMEWORK,
        framework=FRAMEWORK,
        task=next((one.text for one in chat.said if one), None),
        prompts=completions.prompts(connection, chat.session),
        contract=completions.contract(connection, chat),
        rows=len(chat.said),
    )
    problems = RowProblems(where)
    for row, text in chat.problems:
        problems.add(row, text)
    yield from recorded_run(
        where,
        RuntimeLogFormat.name,
        header,
        list(rows(chat.said)),
        problems,
        extra={"session_id": chat.session} if chat.session else {},
        model_calls=completions.model_calls(connection, header.run_id, chat),
    )
