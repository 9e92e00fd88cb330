"""Which tables of the report are shown, and their columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mastwatch.evaluation import views_faults
from mastwatch.evaluation.tables import Cell, Row, Table, build, number, plain, spread
from mastwatch.evaluation.views_faults import LEVEL_NAMES


def tables(report: Mapping[str, Any], *, full: bool) -> list[Table]:
    """The report's tables, empty ones left out.

    Args:
        report: From ``report.evaluate``.
        full: Everything, as for a file; else what fits a terminal.
    """
    found = [
        _targets(report["targets"]),
        _sets(report["sets"]),
        *_agreement(report["agreement"], full),
        _overrun(report["overrun"]),
        _saved(report["saved"]),
        _since_label(report["since_label"]),
        *views_faults.planted(report["injected"], full),
        views_faults.controls(report["controls"], full),
        views_faults.false_alarms(report["false_alarms"], full),
        views_faults.restarts(report["restarts"]),
        views_faults.duplicated(report["duplicated"]),
    ]
    return [table for table in found if table.rows]


def _targets(rows: Sequence[Row]) -> Table:
    columns: dict[str, Cell] = {
        "figure": plain("what"),
        "to reach": lambda row: f"{row['sign']} {row['wanted']:g}",
        "reached": lambda row: "never" if row["reached"] is None else f"{row['reached']:.3g}",
        "": lambda row: "met" if row["met"] else "NOT MET",
    }
    return build("Targets", "", rows, columns)


def _sets(rows: Sequence[Row]) -> Table:
    columns: dict[str, Cell] = {
        "set": plain("set"),
        "runs": plain("runs"),
        "messages": plain("messages"),
        "what its labels are worth": plain("worth"),
    }
    return build("Runs examined", "", rows, columns)


def _agreement(rows: Sequence[Row], full: bool) -> list[Table]:
    columns: dict[str, Cell] = {
        "rule": plain("rule"),
        "TP": plain("tp"),
        "FP": plain("fp"),
        "FN": plain("fn"),
        "TN": plain("tn"),
        "precision": number("precision"),
        "recall": number("recall"),
        "F1": number("f1"),
        "kappa": number("kappa"),
        "95 %": spread("kappa_low", "kappa_high"),
    }
    kept = [row for row in rows if row["positives"] or row["rule"] in LEVEL_NAMES]
    by_head: dict[tuple[str, ...], list[Row]] = {}
    for row in kept:
        head = (row["mode"], row["set"], row["group"], row["view"])
        by_head.setdefault(head, []).append(row)
    return [
        build(", ".join(head), _about(members[0]), members, columns)
        for head, members in by_head.items()
        if full or _telling(members)
    ]


def _telling(rows: Sequence[Row]) -> bool:
    """Whether a table says more than that nothing was there and nothing was found."""
    return bool(rows[0]["positives"]) or any(row["fp"] for row in rows)


def _about(row: Row) -> str:
    about = f"{row['runs']} runs, {row['positives']} positive"
    return about if "kappa" in row else f"{about}: too few for rates"


def _overrun(rows: Sequence[Row]) -> Table:
    note = (
        "Messages from the end of the matched negative to the first finding on the positive; a run "
        "without a finding counts as never, one found before that end as 0."
    )
    columns: dict[str, Cell] = {
        "runs": plain("group"),
        "severity": plain("severity"),
        "found": lambda row: f"{row['found']}/{row['pairs']}",
        "at 0": plain("early"),
        "quartile": _never("q1"),
        "median": _never("median"),
        "3rd quartile": _never("q3"),
        "median of found": _never("median_of_found"),
    }
    return build("Overrun delay, FM-1.5", note, rows, columns)


def _never(key: str) -> Cell:
    return lambda row: "never" if row[key] is None else f"{row[key]:g}"


def _saved(rows: Sequence[Row]) -> Table:
    note = "Share of the transcript after the first finding, on positive runs that were flagged."
    columns: dict[str, Cell] = {
        "mode": plain("mode"),
        "set": plain("set"),
        "group": plain("group"),
        "severity": plain("severity"),
        "flagged": lambda row: f"{row['flagged']}/{row['positives']}",
        "median": number("median"),
        "quartiles": spread("q1", "q3"),
    }
    shown = [row for row in rows if row["flagged"]]
    return build("Share of the run saved", note, shown, columns)


def _since_label(rows: Sequence[Row]) -> Table:
    note = "Rows from the first loop the ledger admits to the first finding; negative: found first."
    columns: dict[str, Cell] = {
        "set": plain("set"),
        "severity": plain("severity"),
        "found": lambda row: f"{row['found']}/{row['positives']}",
        "median": number("median", 0),
        "quartiles": spread("q1", "q3", 0),
    }
    return build("Delay after the ledger's word, FM-1.3", note, rows, columns)
