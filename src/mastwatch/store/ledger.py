"""What all processes on one store spend in a day.

Plain functions on a connection; the store puts the transactions around them.
"""

from __future__ import annotations

import sqlite3

from mastwatch.store.base import Limits, Spend

_ADD = (
    "INSERT INTO spend (day, calls, tokens, usd) VALUES (?, ?, ?, ?) ON CONFLICT (day) DO UPDATE "
    "SET calls = calls + excluded.calls, tokens = tokens + excluded.tokens, "
    "usd = usd + excluded.usd"
)


def spent(connection: sqlite3.Connection, day: str) -> Spend:
    """Spent and set aside on a day."""
    row = connection.execute(
        "SELECT calls, tokens, usd FROM spend WHERE day = ?", (day,)
    ).fetchone()
    return Spend() if row is None else Spend(calls=row[0], tokens=row[1], usd=row[2])


def reserve(connection: sqlite3.Connection, spend: Spend, limits: Limits, day: str) -> bool:
    """Set aside; False, and nothing is set aside, when that would pass a limit."""
    before = spent(connection, day)
    for used, more, limit in (
        (before.calls, spend.calls, limits.calls),
        (before.tokens, spend.tokens, limits.tokens),
        (before.usd, spend.usd, limits.usd),
    ):
        if limit is not None and used + more > limit:
            return False
    connection.execute(_ADD, (day, spend.calls, spend.tokens, spend.usd))
    return True


def settle(connection: sqlite3.Connection, reserved: Spend, spent: Spend, day: str) -> None:
    """Put what was spent in place of what was set aside."""
    connection.execute(
        _ADD,
        (
            day,
            spent.calls - reserved.calls,
            spent.tokens - reserved.tokens,
            spent.usd - reserved.usd,
        ),
    )
