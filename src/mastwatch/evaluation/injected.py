"""Planted faults: how many are found, and how soon after they could have been."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from mastwatch.evaluation import floors
from mastwatch.evaluation.examine import Examined
from mastwatch.evaluation.labelled import LEVELS, Row
from mastwatch.evaluation.scoring import quantile, ratio, wilson
from mastwatch.evaluation.speed import quartiles
from mastwatch.findings import Severity

EXCESSES = (0, 1, 2, 5)
"""Rows over the earliest possible moment within which detection is counted."""
_PAGES = Severity.WARN  # delays are of the first finding that would page somebody


def recall(runs: Sequence[Examined], modes: Sequence[str]) -> list[Row]:
    """Recall and delay on planted faults, grouped coarsely to finely (``by``).

    Only findings of the planted mode count, from the first faulty row on; one before it is a false
    alarm and no detection.
    """
    return [
        {"by": by, **head, **_measure(members)}
        for by, head, members in _grouped(_planted(runs, modes, control=False))
    ]


def controls(runs: Sequence[Examined], modes: Sequence[str]) -> list[Row]:
    """Twin controls (the same construction, but sound): the share flagged by severity."""
    rows: list[Row] = []
    for by, head, members in _grouped(_planted(runs, modes, control=True)):
        flagged = {
            level.label: sum(_first(run, level) is not None for run in members) for level in LEVELS
        }
        low, high = wilson(flagged["warn"], len(members)) or (0.0, 1.0)
        rows.append(
            {"by": by, **head, "runs": len(members), **flagged}
            | {"per_100": ratio(100 * flagged["warn"], len(members))}
            | {"per_100_low": 100 * low, "per_100_high": 100 * high}
        )
    return rows


def in_target(run: Examined) -> bool:
    """Whether a planted fault is one that has to be found; the others are only reported."""
    return run.injection is not None and run.injection.get("target", True) is not False


def mode_of(run: Examined) -> str:
    """The planted mode, with its prefix even where the file leaves it out."""
    mode = str((run.injection or {}).get("mode", ""))
    return mode if mode.startswith("FM-") else f"FM-{mode}"


def _planted(runs: Sequence[Examined], modes: Sequence[str], *, control: bool) -> list[Examined]:
    return [
        run
        for run in runs
        if run.injection is not None and run.control is control and mode_of(run) in modes
    ]


def _grouped(runs: Sequence[Examined]) -> Iterator[tuple[str, Row, list[Examined]]]:
    """The same runs over and over: by mode, by what was visible, by language, and so on."""
    keys: dict[str, Callable[[Examined], Row]] = {
        "mode": lambda run: {"target": in_target(run)},
        "evidence": lambda run: {"target": in_target(run), "requests": run.requests},
        "language": lambda run: {
            "target": in_target(run),
            "set": run.set,
            "language": run.language,
        },
        "hosts": lambda run: {"injector": _injector(run), "hosts": _hosts(run)},
        "injector": lambda run: {"target": in_target(run), "injector": _injector(run)},
        "variant": lambda run: {
            "target": in_target(run),
            "injector": _injector(run),
            "variant": _variant(run),
        },
    }
    for by, key in keys.items():
        members: dict[tuple[object, ...], tuple[Row, list[Examined]]] = {}
        for run in runs:
            head = {"mode": mode_of(run), **key(run)}
            members.setdefault(tuple(head.values()), (head, []))[1].append(run)
        for _, (head, kin) in sorted(members.items(), key=lambda item: str(item[0])):
            yield by, head, kin


def _injector(run: Examined) -> str:
    return str((run.injection or {}).get("injector", ""))


def _variant(run: Examined) -> str:
    params = (run.injection or {}).get("params")
    named = params if isinstance(params, Mapping) else {}
    return ", ".join(f"{key}={value}" for key, value in named.items())


def _hosts(run: Examined) -> str:
    return f"{run.framework or run.set}, {run.speakers}, {run.language}"


def _row(run: Examined, key: str) -> int:
    value = (run.injection or {}).get(key, 0)
    return value if isinstance(value, int) else 0


def _first(run: Examined, level: int) -> int | None:
    return run.first(mode_of(run), level, start=_row(run, "onset"))


def _measure(runs: Sequence[Examined]) -> Row:
    n = len(runs)
    row: Row = {"runs": n}
    for level in LEVELS:
        row[level.label] = ratio(sum(_first(run, level) is not None for run in runs), n)
    pages = [(run, at) for run in runs if (at := _first(run, _PAGES)) is not None]
    row["warn_low"], row["warn_high"] = wilson(len(pages), n) or (0.0, 1.0)
    delays = quartiles([at - _row(run, "onset") for run, at in pages])
    excess = [at - _row(run, "earliest") for run, at in pages]
    row["delay"] = delays["median"]
    row["excess"] = quantile(excess, 0.5) if excess else None
    for most in EXCESSES:
        row[f"excess_{most}"] = ratio(sum(rows <= most for rows in excess), n)
    row["false_before_onset"] = sum(
        (first := run.first(mode_of(run), _PAGES)) is not None and first < _row(run, "onset")
        for run in runs
    )
    return row | _floors(runs)


def _floors(runs: Sequence[Examined]) -> Row:
    """The best naive detector on the same runs: its name and its recall."""
    names = {name for run in runs for name in floors.BY_MODE.get(mode_of(run), ())}
    shares = {
        name: sum(run.floors.get(name, -math.inf) >= _row(run, "onset") for run in runs) / len(runs)
        for name in sorted(names)
    }
    best = max(shares, key=lambda name: shares[name], default=None)
    return {"best_floor": best, "best_floor_recall": None if best is None else shares[best]}
