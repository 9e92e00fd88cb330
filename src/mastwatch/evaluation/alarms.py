"""False alarms on healthy runs, restarts named by the log itself, and duplicated emission."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from mastwatch.evaluation import floors
from mastwatch.evaluation.datasets import COMPOSED
from mastwatch.evaluation.examine import TIMES, Examined
from mastwatch.evaluation.labelled import LEVELS, Row
from mastwatch.evaluation.scoring import ratio, wilson


def false_alarms(runs: Sequence[Examined], modes: Sequence[str]) -> list[Row]:
    """Flagged runs per 100 healthy ones, per host set, mode and severity, beside the floors.

    Success is not health: runs that are positives of a turn-cap set are left out, and the rate
    over all successes stands beside. Failed runs are reported, but they are no negatives.
    """
    rows: list[Row] = []
    for hosts, healthy, members in _hosts(runs):
        head = {"hosts": hosts, "healthy": healthy, "runs": len(members)}
        messages = sum(run.messages for run in members)
        for mode in modes:
            for level in LEVELS:
                flagged = sum(run.flagged(mode, level) for run in members)
                episodes = sum(_episodes(run, mode, level) for run in members)
                rows.append(
                    {**head, "mode": mode, "rule": level.label, **_rate(flagged, len(members))}
                    | {"per_1000_messages": ratio(1_000 * episodes, messages)}
                )
            for floor in floors.BY_MODE.get(mode, ()):
                flagged = sum(floor in run.floors for run in members)
                rows.append({**head, "mode": mode, "rule": floor, **_rate(flagged, len(members))})
            rows += _half_the_turns({**head, "mode": mode}, members)
    return rows


def _half_the_turns(head: Row, members: Sequence[Examined]) -> list[Row]:
    caps = [(run.messages, run.turn_cap) for run in members if run.turn_cap is not None]
    if not caps or len(caps) < len(members):
        return []
    flagged = sum(messages >= cap // 2 for messages, cap in caps)
    return [{**head, "rule": "message count >= half the turns", **_rate(flagged, len(members))}]


def _hosts(runs: Sequence[Examined]) -> Iterator[tuple[str, bool, list[Examined]]]:
    overrun = {run.id for run in runs if run.about_turns and run.labels["FM-1.5"]}
    outcomes = [run for run in runs if run.kind in ("healthy", "failed")]
    for name in dict.fromkeys(_host(run) for run in outcomes):
        kin = [run for run in outcomes if _host(run) == name]
        every = [run for run in kin if run.kind == "healthy"]
        clean = [run for run in every if run.id not in overrun]
        failed = [run for run in kin if run.kind == "failed"]
        kinds = list(dict.fromkeys(run.speakers for run in clean if run.set != COMPOSED))
        for speakers in kinds if len(kinds) > 1 else ():
            yield f"{name}, {speakers}", True, [run for run in clean if run.speakers == speakers]
        if clean:
            yield name, True, clean
        if len(clean) < len(every):
            yield f"{name}, every success (turn-cap positives included)", True, every
        if failed:
            yield f"{name}, failed (no negatives)", False, failed


def _host(run: Examined) -> str:
    return f"{COMPOSED}, {run.language}" if run.set == COMPOSED else run.framework or run.set


def _episodes(run: Examined, mode: str, level: int) -> int:
    return len({s.episode for s in run.said if s.mode == mode and s.severity >= level})


def _rate(flagged: int, n: int) -> Row:
    low, high = wilson(flagged, n) or (0.0, 1.0)
    return {
        "flagged": flagged,
        "per_100": 100 * flagged / n if n else None,
        "per_100_low": 100 * low,
        "per_100_high": 100 * high,
    }


def restarts(runs: Sequence[Examined], mode: str = "FM-2.1") -> list[Row]:
    """Restarts that the log itself names, and how many of them were found, run by run.

    A restart is found by a finding between it and the next one. A finding before the first, or in
    a log without restarts, is false. Only logs that begin with rows of their harness can tell.
    """
    rows: list[Row] = []
    for run in runs:
        if run.restarts is None or run.kind in ("injected", "unusable"):
            continue
        if not any(other.restarts for other in runs if other.framework == run.framework):
            continue  # its harness logs no restarts
        spans = list(itertools.pairwise((*run.restarts, run.rows)))
        row: Row = {"run": run.id, "set": run.set, "restarts": len(run.restarts)}
        for level in LEVELS:
            at = [s.row for s in run.said if s.mode == mode and s.severity >= level]
            first = run.restarts[0] if run.restarts else run.rows
            row[f"found_{level.label}"] = sum(any(a <= r < b for r in at) for a, b in spans)
            row[f"false_{level.label}"] = sum(r < first for r in at)
        rows.append(row)
    return rows


def duplicated(runs: Sequence[Examined], modes: Sequence[str]) -> list[Row]:
    """Runs whose findings change when every record is written twice or three times."""
    rows: list[Row] = []
    for name in dict.fromkeys(run.set for run in runs):
        tried = [run for run in runs if run.set == name and run.differs]
        if not tried:
            continue
        row: Row = {"set": name, "runs": len(tried), "differ": 0}
        row |= {f"times_{n}": sum(bool(run.differs[n]) for run in tried) for n in TIMES}
        changed = [set().union(*run.differs.values()) for run in tried]
        row["differ"] = sum(bool(found) for found in changed)
        rows.append(row | {mode: sum(mode in found for found in changed) for mode in modes})
    return rows
