"""Files of other releases, of other programs, and none at all."""

from __future__ import annotations

import sqlite3

import pytest

from mastwatch.store import StoreError, Trace, schema
from mastwatch.store.sqlite import SqliteStore


def older(path) -> None:
    """A file as a release with the first step alone wrote it."""
    connection = sqlite3.connect(path)
    for statement in schema.MIGRATIONS[0]:
        connection.execute(statement)
    connection.execute(
        "INSERT INTO spend (day, calls, tokens, usd) VALUES ('2026-01-01', 7, 8, 9.5)"
    )
    connection.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
    connection.execute("PRAGMA user_version = 1")
    connection.commit()
    connection.close()


def version(path) -> int:
    connection = sqlite3.connect(path)
    found = connection.execute("PRAGMA user_version").fetchone()[0]
    connection.close()
    return found


def test_an_older_file_is_brought_up_to_date_with_what_is_in_it(tmp_path, monkeypatch) -> None:
    path = tmp_path / "runs.sqlite"
    older(path)
    step = ("ALTER TABLE spend ADD COLUMN note TEXT NOT NULL DEFAULT 'old'",)
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, step))
    SqliteStore(path).check()
    assert version(path) == len(schema.MIGRATIONS)
    row = sqlite3.connect(path).execute("SELECT calls, note FROM spend").fetchone()
    assert row == (7, "old")


def test_a_step_that_fails_changes_nothing(tmp_path, monkeypatch) -> None:
    path = tmp_path / "runs.sqlite"
    older(path)
    step = ("ALTER TABLE spend ADD COLUMN note TEXT", "CREATE TABLE runs (x)")
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, step))
    with pytest.raises(StoreError, match="table runs already exists"):
        SqliteStore(path).check()
    assert version(path) == 1
    columns = sqlite3.connect(path).execute("SELECT * FROM spend").description
    assert "note" not in [column[0] for column in columns]


def test_an_empty_file_becomes_a_store(tmp_path) -> None:
    path = tmp_path / "runs.sqlite"
    path.touch()
    SqliteStore(path).add(Trace(run_id="r"))
    assert version(path) == len(schema.MIGRATIONS)


def test_a_newer_file_is_refused_with_a_way_out(tmp_path) -> None:
    path = tmp_path / "runs.sqlite"
    older(path)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StoreError, match=r"runs\.sqlite.*newer mastwatch \(schema 99.*upgrade"):
        SqliteStore(path).check()
    assert version(path) == 99


def test_another_programs_database_is_left_alone(tmp_path) -> None:
    path = tmp_path / "theirs.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    with pytest.raises(StoreError, match="another program"):
        SqliteStore(path).check()
    names = sqlite3.connect(path).execute("SELECT name FROM sqlite_master").fetchall()
    assert names == [("theirs",)]


def test_what_is_no_database_is_refused(tmp_path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("x" * 5_000)
    with pytest.raises(StoreError, match=r"notes\.txt cannot be used: file is not a database"):
        SqliteStore(path).check()
    assert path.read_text() == "x" * 5_000
