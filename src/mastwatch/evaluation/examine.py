"""Everything the report needs to know of one run, taken in one visit; small enough to send home."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mastwatch import guard
from mastwatch.evaluation import datasets, floors
from mastwatch.evaluation.datasets import Case, Kind
from mastwatch.evaluation.streaming import Detectors, Said, differing, listen, read

TIMES = (2, 3)
"""How often each record is written in the test of duplicated emission."""
_DOUBLED_SHARE = 10  # of generated runs only each tenth is examined doubled: there are many


@dataclass(frozen=True, slots=True)
class Examined:
    """One run, its labels and what was said of it.

    Attributes:
        id: The run's.
        set: The data set it belongs to.
        kind: What it is good for.
        framework: As the record says.
        speakers: ``two agents`` or ``group``.
        problem: Runs of one problem are kin.
        pair: Configuration and problem, what a turn-cap positive shares with its negative.
        requests: Whether the model requests were visible.
        language: Of the run.
        rows: Length of the transcript.
        messages: Rows that are no private thoughts.
        turn_cap: The cap on messages it was made under, where known.
        labels: Modes the run is labelled with.
        loops_at: Rows where a run's own ledger says that it loops.
        said: Findings in order.
        floors: Row at which each naive detector first fires.
        restarts: Rows at which the log says that the harness began anew; None without such rows.
        injection: What was planted, in a generated run.
        control: The planted thing is sound, and must not be flagged.
        differs: Modes whose findings change under duplicated emission, by how often each record
            was written; empty where this was not examined.
        broken: Places where an error of ours was swallowed meanwhile.
    """

    id: str
    set: str
    kind: Kind
    framework: str
    speakers: str
    problem: str
    pair: str
    requests: bool
    language: str
    rows: int
    messages: int
    turn_cap: int | None
    labels: Mapping[str, bool]
    loops_at: tuple[int, ...]
    said: tuple[Said, ...]
    floors: Mapping[str, int]
    restarts: tuple[int, ...] | None
    injection: Mapping[str, Any] | None = None
    control: bool = False
    differs: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    broken: tuple[str, ...] = ()

    @property
    def about_turns(self) -> bool:
        """Whether its label is the proxy "ran out of turns"."""
        return self.kind == "labelled" and self.turn_cap is not None and "FM-1.5" in self.labels

    def first(self, mode: str, severity: int, start: int = 0) -> int | None:
        """Row of the first finding of a mode at a severity or above, from a row on."""
        rows = (
            s.row for s in self.said if s.mode == mode and s.severity >= severity and s.row >= start
        )
        return next(rows, None)

    def flagged(self, mode: str, severity: int, before: int | None = None) -> bool:
        """Whether a mode was found, in the whole run or in what was seen before a row."""
        return any(
            s.mode == mode
            and s.severity >= severity
            and (before is None or s.row < before)
            and not (s.at_end and before is not None and before < self.rows)
            for s in self.said
        )


def examine(case: Case, detectors: Detectors, seed: int = 0) -> Examined | None:
    """Play a run to the detectors, and to the naive ones; None where it cannot be read.

    Args:
        case: The run.
        detectors: Detector classes, or other callables that make one.
        seed: Chooses which generated runs are examined doubled too.
    """
    record = case.record
    run = read(record)
    if run is None:
        return None
    errors = guard.counts()
    said = listen(run.events, detectors)
    planted = datasets.injection(record)
    doubled = planted is None or _drawn(f"{seed}:{run.id}")
    differs = {n: differing(record, said, n, detectors) for n in TIMES} if doubled else {}
    spoken = floors.spoken(row for row in record["messages"] if isinstance(row, dict))
    return Examined(
        id=run.id,
        set=case.set,
        kind=datasets.kind(record),
        framework=run.framework,
        speakers=datasets.speakers(record),
        problem=_short(datasets.problem(record)),
        pair=_short(datasets.pair(record)),
        requests=bool(record.get("requests")),
        language=datasets.language(record),
        rows=run.messages,
        messages=len(spoken),
        turn_cap=datasets.turn_cap(record),
        labels=datasets.modes(record),
        loops_at=_loops(record),
        said=said,
        floors=floors.floors(spoken),
        restarts=_restarts(record),
        injection=planted,
        control=bool(record.get("control") or (planted or {}).get("control")),
        differs=differs,
        broken=tuple(where for where, n in guard.counts().items() if n > errors.get(where, 0)),
    )


def _drawn(key: str) -> bool:
    return zlib.crc32(key.encode()) % _DOUBLED_SHARE == 0


def _short(text: str) -> str:
    """A name for a text, so that no text is kept."""
    return f"{zlib.crc32(text.encode()):08x}{zlib.adler32(text.encode()):08x}"


def _loops(record: datasets.Record) -> tuple[int, ...]:
    ledger = datasets.labels(record).get("ledger_weak")
    rows = ledger.get("in_loop_at") if isinstance(ledger, dict) else None
    return tuple(row for row in rows if isinstance(row, int)) if isinstance(rows, list) else ()


def _restarts(record: datasets.Record) -> tuple[int, ...] | None:
    opens = next((row for row in record["messages"] if isinstance(row, dict)), {})
    if opens.get("role") != "system":
        return None
    return tuple(datasets.restart_rows(record["messages"]))
