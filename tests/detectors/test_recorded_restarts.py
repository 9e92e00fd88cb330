"""The logs of HyperAgent, whose harness names its restarts in rows of its own."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mastwatch.findings import Finding, Severity
from mastwatch.formats.record import read_record
from mastwatch.replay import replay
from mastwatch_detectors.conversation_reset import ConversationReset

pytestmark = pytest.mark.slow
WITHIN = 8
"""Rows after a restart's own within which it must be found."""


@pytest.fixture(scope="module")
def logs(traces: Path) -> dict[str, dict[str, Any]]:
    with gzip.open(traces / "dev" / "mast_gt_human.jsonl.gz", "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    return {r["id"].rpartition("-")[2]: r for r in records if "HyperAgent" in r["id"]}


def findings(record: dict[str, Any]) -> list[Finding]:
    run = next(iter(read_record(record)))
    return [v for v in replay(run.events, [ConversationReset]) if isinstance(v, Finding)]


def restarts(record: dict[str, Any]) -> Iterator[tuple[int, int]]:
    """First and last row of each block of the harness's rows with messages after it."""
    rows = [row["index"] for row in record["messages"] if row["role"] == "system"]
    blocks = [row for row in rows if row - 1 not in rows]
    for first in blocks[1:]:
        last = next(row for row in rows if row >= first and row + 1 not in rows)
        if last + 1 < len(record["messages"]):
            yield first, last


def test_named_restarts_are_found(logs: dict[str, dict[str, Any]]) -> None:
    found = {Severity.SUSPECT: 0, Severity.WARN: 0}
    total = 0
    for record in (logs["12907"], logs["14365"]):
        seen = findings(record)
        for first, last in restarts(record):
            total += 1
            for level in found:
                found[level] += any(
                    f.severity >= level and first <= f.message_index <= last + WITHIN for f in seen
                )
    assert total == 10
    assert found[Severity.SUSPECT] == 10
    assert found[Severity.WARN] >= 9


def test_log_without_restarts_is_silent(logs: dict[str, dict[str, Any]]) -> None:
    assert findings(logs["25570"]) == []


def test_copies_of_rows_change_nothing(logs: dict[str, dict[str, Any]]) -> None:
    """The loggers write each row once more after each restart."""
    for record in logs.values():
        kept: list[dict[str, Any]] = []
        for row in record["messages"]:
            last = kept[-1] if kept else {}
            if any(row[key] != last.get(key) for key in ("agent", "role", "content")):
                kept.append({**row, "index": len(kept)})
        raw, clean = findings(record), findings({**record, "messages": kept})
        assert [(f.severity, f.fingerprint) for f in raw] == [
            (f.severity, f.fingerprint) for f in clean
        ]
