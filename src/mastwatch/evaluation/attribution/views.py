"""The figures of attribution as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mastwatch.evaluation.tables import Cell, Row, Table, build, number, plain
from mastwatch.reports.wording import count

_LEGEND = {
    "steps hit, step": "exactly the labelled step; as a count, and in % of all runs, with Wilson's "
    "95 % interval. Undefined counts as wrong",
    "agent": "the labelled agent, whatever logs add to its name",
    "joint": "both",
    "within 1": "the labelled step or a neighbour of it",
    "top-3": "the labelled step is among the first three that are named",
    "undefined": "runs without an answer",
    "calls, tokens": "per run",
    "as published (substring)": "step / agent by the published code: right where the label's text "
    "stands anywhere in the answer's, so 12 is right for step 1",
}
_PEOPLE = (
    "a second annotation of the same runs, by another definition, answers the first: a lower bound "
    "of what can be reached"
)
_SCRIPTED = "A scripted model: its figures test the scoring and say nothing about any model."


def tables(result: Mapping[str, Any]) -> list[Table]:
    """One table for each subset, one for all runs, and what the columns mean."""
    columns: dict[str, Cell] = {
        "": plain("who"),
        "runs": plain("runs"),
        "steps hit": _hits("step"),
        "step": _share("step"),
        "agent": _share("agent"),
        "joint": _share("joint"),
        "within 1": _share("within_1"),
        "top-3": _share("top_3"),
        "undefined": _hits("undefined"),
        "calls": number("calls", 1),
        "tokens": number("tokens", 0),
        "as published (substring)": _as_published,
    }
    found = []
    for part in result["subsets"]:
        title = f"{part['subset']}, {count(part['runs'], 'run')}"
        found.append(build(title, _note(result["asked"]), part["rows"], columns))
    return [*found, _legend(result)]


def _legend(result: Mapping[str, Any]) -> Table:
    told = dict(_LEGEND)
    if any(row["kind"] == "people" for part in result["subsets"] for row in part["rows"]):
        told["two annotators"] = _PEOPLE
    rows = [{"what": what, "means": means} for what, means in told.items()]
    return build("How to read it", "", rows, {"": plain("what"), "means": plain("means")})


def _note(asked: Mapping[str, Any]) -> str:
    if not asked:
        return ""
    if asked["provider"] == "scripted":
        return _SCRIPTED
    truth = "with" if asked["ground_truth"] else "without"
    model, version = ", ".join(asked["model"]), ", ".join(asked["prompt_version"])
    return f"Model: {model or 'none answered'}, prompt {version}, {truth} ground truth."


def _hits(metric: str) -> Cell:
    return lambda row: str(row.get(metric, {}).get("hits", "-"))


def _share(metric: str) -> Cell:
    def cell(row: Row) -> str:
        found = row.get(metric)
        if found is None or found["share"] is None:
            return "-"
        shown = f"{100 * found['share']:.1f}"
        if found.get("low") is None:
            return shown
        return f"{shown} ({100 * found['low']:.0f}-{100 * found['high']:.0f})"

    return cell


def _as_published(row: Row) -> str:
    cells = (_share(f"substring_{what}")(row).partition(" ")[0] for what in ("step", "agent"))
    return " / ".join(cells)
