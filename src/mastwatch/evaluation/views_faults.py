"""Tables of planted faults, false alarms, restarts and duplicated emission."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mastwatch.evaluation.examine import TIMES
from mastwatch.evaluation.injected import EXCESSES
from mastwatch.evaluation.labelled import LEVELS
from mastwatch.evaluation.tables import Cell, Row, Table, build, number, plain, spread

LEVEL_NAMES = tuple(level.label for level in LEVELS)
_RATE = ("per_100", "per_100_low", "per_100_high", "per_1000_messages")
_BRIEF = ("mode", "evidence", "language", "injector")  # groupings that a terminal has room for


def planted(rows: Sequence[Row], full: bool) -> list[Table]:
    """Recall and delay on planted faults."""
    note = (
        "Recall by severity (cumulative); rows from the onset (delay) and beyond the first moment "
        "the fault could be told (excess), medians at warn. Target no: reported only."
    )
    shares = {f"<={most}": number(f"excess_{most}") for most in EXCESSES}
    figures: dict[str, Cell] = {
        "runs": plain("runs"),
        **{level: number(level) for level in LEVEL_NAMES},
        "95 % at warn": spread("warn_low", "warn_high"),
        "delay": number("delay", 0),
        "excess": number("excess", 0),
        **shares,
        "early": plain("false_before_onset"),
        "best floor": plain("best_floor"),
        "its recall": number("best_floor_recall"),
    }
    heads = {
        "mode": ("mode", "target"),
        "evidence": ("mode", "target", "requests"),
        "language": ("mode", "target", "set", "language"),
        "injector": ("mode", "target", "injector"),
        "hosts": ("mode", "injector", "hosts"),
        "variant": ("mode", "target", "injector", "variant"),
    }
    shown = heads if full else {by: heads[by] for by in _BRIEF}
    return [
        build(
            f"Planted faults, by {by}",
            note if by == "mode" else "",
            [row for row in rows if row["by"] == by],
            {key: plain(key) for key in keys} | figures,
        )
        for by, keys in shown.items()
    ]


def controls(rows: Sequence[Row], full: bool) -> Table:
    """Twin controls and the share of them that was flagged."""
    columns: dict[str, Cell] = {
        "mode": plain("mode"),
        "injector": plain("injector"),
        "variant": plain("variant"),
        "runs": plain("runs"),
        **{level: plain(level) for level in LEVEL_NAMES},
        "per 100 at warn": number("per_100", 1),
        "95 %": spread("per_100_low", "per_100_high", 1),
    }
    by = "variant" if full else "injector"
    shown = [row for row in rows if row["by"] == by]
    return build("Twin controls: sound, not to be flagged", "", shown, columns)


def false_alarms(rows: Sequence[Row], full: bool) -> Table:
    """Flags on healthy runs; in full beside the naive rules."""
    return _each_alarm(rows) if full else _alarms_by_level(rows)


def _alarms_by_level(rows: Sequence[Row]) -> Table:
    """One line per kind of host and mode, the severities side by side."""
    lines: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        if row["rule"] in LEVEL_NAMES:
            line = lines.setdefault((row["hosts"], row["mode"]), dict(row))
            line[row["rule"]] = row["flagged"]
            if row["rule"] == "warn":
                line |= {key: row[key] for key in _RATE}
    columns: dict[str, Cell] = {
        "hosts": plain("hosts"),
        "mode": plain("mode"),
        "runs": plain("runs"),
        **{level: plain(level) for level in LEVEL_NAMES},
        "per 100 at warn": number("per_100"),
        "95 %": spread("per_100_low", "per_100_high"),
        "findings per 1,000 messages": number("per_1000_messages"),
    }
    shown = [line for line in lines.values() if line["suspect"]]
    note = "Modes without any finding are left out; the Markdown file has them, and naive rules."
    return build("False alarms: runs flagged", note, shown, columns)


def _each_alarm(rows: Sequence[Row]) -> Table:
    columns: dict[str, Cell] = {
        "hosts": plain("hosts"),
        "mode": plain("mode"),
        "rule": plain("rule"),
        "flagged": lambda row: f"{row['flagged']}/{row['runs']}",
        "per 100 runs": number("per_100"),
        "95 %": spread("per_100_low", "per_100_high"),
        "findings per 1,000 messages": number("per_1000_messages"),
    }
    return build("False alarms, beside the naive rules", "", rows, columns)


def restarts(rows: Sequence[Row]) -> Table:
    """Restarts found and missed, run by run."""
    columns: dict[str, Cell] = {"run": plain("run"), "restarts": plain("restarts")}
    for level in LEVEL_NAMES:
        columns[f"found at {level}"] = plain(f"found_{level}")
        columns[f"false at {level}"] = plain(f"false_{level}")
    note = "Restarts that the harness's own rows name, FM-2.1; report only but for the named logs."
    return build("Restarts", note, rows, columns)


def duplicated(rows: Sequence[Row]) -> Table:
    """Runs that duplicated emission changes."""
    columns: dict[str, Cell] = {
        "set": plain("set"),
        "runs": plain("runs"),
        **{f"differ at {n} times": plain(f"times_{n}") for n in TIMES},
        "differ": plain("differ"),
        "by mode": lambda row: ", ".join(
            f"{key} {count}" for key, count in row.items() if key.startswith("FM-") and count
        ),
    }
    note = "Runs whose findings change when every record stands in the log several times."
    return build("Duplicated emission", note, rows, columns)
