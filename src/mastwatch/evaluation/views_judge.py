"""The figures of a judge as tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mastwatch.evaluation.agreement import LEAST_POSITIVES, Pair, ac1
from mastwatch.evaluation.tables import Cell, Row, Table, build, number, plain, spread

TOO_FEW = f"too few (below {LEAST_POSITIVES})"
SCRIPTED = (
    "A scripted judge: these figures test the scoring and the judge around the model, and say "
    "nothing about any model."
)


def tables(result: Mapping[str, Any]) -> list[Table]:
    """All tables of ``evaluation.judge_score.score``; empty ones are left out."""
    found = [
        _totals(result),
        modes(result["modes"], _note(result)),
        *repeats(result["modes"]),
        _flips(result["flips"]),
        _cost(result),
    ]
    return [table for table in found if table.rows]


def modes(rows: Sequence[Row], note: str = "") -> Table:
    """Agreement by mode; "too few" where there are too few positives for a figure."""
    columns: dict[str, Cell] = {
        "mode": _mode,
        "runs": plain("n"),
        "positives": plain("positives"),
        "TP/FP/FN": lambda row: f"{row['tp']}/{row['fp']}/{row['fn']}",
        "unsure": plain("unsure"),
        "not evaluated": plain("not_evaluated"),
        "precision": _known("precision"),
        "recall": number("recall"),
        "F1": number("f1"),
        "95 %": spread("f1_low", "f1_high"),
        "kappa": number("kappa"),
        "95 % ": spread("kappa_low", "kappa_high"),
        "AC1": number("ac1"),
        "PABAK": number("pabak"),
        "sure from": number("threshold"),
    }
    return build("Agreement by mode", note, rows, columns)


def repeats(rows: Sequence[Row]) -> list[Table]:
    """How the judge agrees with itself; nothing where no run was judged twice."""
    twice = [row for row in rows if row["repeated_runs"]]
    columns: dict[str, Cell] = {
        "mode": _mode,
        "runs judged again": plain("repeated_runs"),
        "same verdict": number("repeat_agreement"),
        "kappa": number("repeat_kappa"),
    }
    return [build("Run-to-run agreement", "", twice, columns)] if twice else []


def labellers(pairs: Sequence[Pair]) -> list[Table]:
    """How people agree with each other, and on which runs they do not."""
    rows = [
        {
            "who": f"{pair.first} and {pair.second}",
            "slug": pair.slug,
            "runs": pair.table.n,
            "both": pair.table.tp,
            "differ": len(pair.disagreements),
            "kappa": pair.table.kappa,
            "ac1": ac1(pair.table),
            "on": ", ".join(pair.disagreements),
        }
        for pair in pairs
    ]
    columns: dict[str, Cell] = {
        "labellers": plain("who"),
        "mode": plain("slug"),
        "runs": plain("runs"),
        "both present": plain("both"),
        "differ": plain("differ"),
        "kappa": number("kappa"),
        "AC1": number("ac1"),
    }
    where: dict[str, Cell] = {"labellers": plain("who"), "mode": plain("slug"), "runs": plain("on")}
    return [
        build("Agreement of labellers", "", rows, columns),
        build("Disagreements", "", [row for row in rows if row["differ"]], where),
    ]


def _mode(row: Row) -> str:
    return str(row.get("mode") or row.get("slug"))


def _known(key: str) -> Cell:
    shown = number(key)
    return lambda row: TOO_FEW if row.get("too_few") else shown(row)


def _note(result: Mapping[str, Any]) -> str:
    scripted = result["judge"].get("provider") == "scripted"
    return (
        SCRIPTED
        if scripted
        else (
            "Faults planted by construction, plainer than most real ones. Accuracy is not given: a "
            "judge that never finds anything is right most of the time."
        )
    )


def _totals(result: Mapping[str, Any]) -> Table:
    clean, evidence, flips = result["clean"], result["evidence"], result["flips"]
    told: list[tuple[str, str]] = [
        ("judge", ", ".join(result["judge"].get("model", ())) or "none"),
        ("taxonomy", result["judge"].get("taxonomy_version", "")),
        ("prompt", result["judge"].get("prompt_version", "")),
        ("runs judged", str(result["runs"])),
        ("still to be judged", str(result["missing"])),
        (f"macro-F1 over {result['macro_f1_modes']} modes", _share(result["macro_f1"])),
        ("clean runs with a false alarm", f"{clean['flagged']} of {clean['runs']}"),
        ("  95 % interval of the share", _interval(clean["share_low"], clean["share_high"])),
        ("present without a verified quote", str(result["unverified_present"])),
        ("quotes", ", ".join(f"{n} {status}" for status, n in evidence.items())),
        ("least coverage", _share(result["coverage_least"])),
        ("not evaluated", _counts(result["not_evaluated"])),
        ("verdicts flipped by planted texts", _share(flips["rate"])),
        ("  present ones silenced", _share(flips["silenced_rate"])),
        ("  differ without any text", _share(flips["own"]["rate"])),
    ]
    rows = [{"what": what, "figure": figure} for what, figure in told]
    return build("The judge", "", rows, {"": plain("what"), "figure": plain("figure")})


def _flips(result: Mapping[str, Any]) -> Table:
    columns: dict[str, Cell] = {
        "planted text": plain("text"),
        "verdicts": plain("compared"),
        "flipped": plain("flipped"),
        "rate": number("rate"),
        "present": plain("present"),
        "silenced": plain("silenced"),
    }
    note = "Verdicts changed by a text in the run that asks for them; the same run without it."
    return build("Planted texts", note, result["by_text"], columns)


def _cost(result: Mapping[str, Any]) -> Table:
    usage = result["usage"]
    columns: dict[str, Cell] = {
        "reports": plain("reports"),
        "calls": plain("calls"),
        "input tokens": plain("input_tokens"),
        "planned": plain("planned_tokens"),
        "output tokens": plain("output_tokens"),
        "USD": number("usd"),
    }
    return build("Cost", "", [usage] if usage["reports"] else [], columns)


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _interval(low: float | None, high: float | None) -> str:
    shown: Callable[[float | None], str] = _share
    return f"{shown(low)} to {shown(high)}"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{n} {reason}" for reason, n in counts.items()) or "none"
