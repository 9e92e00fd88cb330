"""Puts the evaluation together: cases in, one plain dictionary out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from typing import Any

from mastwatch import taxonomy
from mastwatch.detector import Detector
from mastwatch.evaluation import alarms, datasets, injected, labelled, speed, targets
from mastwatch.evaluation.examine import Examined
from mastwatch.evaluation.pool import examine_all
from mastwatch.evaluation.sources import Cases, Options

SCHEMA = "mastwatch.evaluation.detectors/1"
"""Name and version of the report's form; the number rises when a field changes its meaning."""


def evaluate(
    cases: Cases,
    options: Options,
    detectors: Sequence[type[Detector]],
    tell: Callable[[int, int | None], None] = lambda done, total: None,
) -> dict[str, Any]:
    """Examine the cases and score what was said.

    Args:
        cases: From ``gather``.
        options: As asked.
        detectors: Those that are examined, for the report's head.
        tell: Called with runs done and, while it is known, how many there are.

    Returns:
        The report; JSON can hold it as it is.
    """
    runs: list[Examined] = []
    unreadable = 0
    total = len(cases.real)
    everything = cases.each(options)
    found = examine_all(everything, options.detectors, options.seed, options.processes)
    for done, examined in enumerate(found, 1):
        if examined is None:
            unreadable += 1
        else:
            runs.append(examined)
        tell(done, total if done < total else None)
    for where, n in Counter(where for run in runs for where in run.broken).items():
        cases.problems.append(f"an error of ours in {where} spoils the figures of {n} runs")
    if unreadable:
        cases.problems.append(f"{unreadable} records hold no readable message; left out")
    return score(runs, options, detectors, cases.problems)


def score(
    runs: Sequence[Examined],
    options: Options,
    detectors: Sequence[type[Detector]],
    problems: Sequence[str] = (),
) -> dict[str, Any]:
    """Assemble the report of examined runs."""
    modes = [
        mode.code
        for mode in taxonomy.MODES
        if any(mode.code == detector.mode for detector in detectors)
        and (not options.modes or mode.code in options.modes)
    ]
    report: dict[str, Any] = {
        "schema": SCHEMA,
        "mastwatch": _version(),
        "seed": options.seed,
        "limit": options.limit,
        "hosts": options.hosts,
        "modes": modes,
        "detectors": [{"name": d.name, "mode": d.mode} for d in detectors],
        "sets": _sets(runs),
        "agreement": labelled.agreement(runs, modes, options.seed),
        "overrun": speed.overrun(runs) if "FM-1.5" in modes else [],
        "saved": speed.saved(runs, modes),
        "since_label": speed.since_label(runs) if "FM-1.3" in modes else [],
        "injected": injected.recall(runs, modes),
        "controls": injected.controls(runs, modes),
        "false_alarms": alarms.false_alarms(runs, modes),
        "restarts": alarms.restarts(runs) if "FM-2.1" in modes else [],
        "duplicated": alarms.duplicated(runs, modes),
        "problems": list(problems),
    }
    report["targets"] = targets.judged(report)
    return report


def _sets(runs: Sequence[Examined]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for name in dict.fromkeys(run.set for run in runs):
        members = [run for run in runs if run.set == name]
        kinds = Counter(run.kind for run in members)
        rows.append(
            {"set": name, "runs": len(members), "messages": sum(run.messages for run in members)}
            | {"kinds": sorted(kinds), "worth": datasets.WORTH.get(name) or _worth(kinds)}
        )
    return rows


def _worth(kinds: Counter[datasets.Kind]) -> str:
    """What the runs of a set that we do not know say of themselves."""
    if len(kinds) == 1:
        return _WORTH[next(iter(kinds))]
    return ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))


_WORTH: Mapping[datasets.Kind, str] = {
    "injected": "planted faults: the onset is certain",
    "labelled": "labelled; by whom and how well, the file does not say",
    "healthy": "successes without labels: the false-alarm denominator",
    "failed": "failures without labels: no negatives",
    "unlabelled": "no labels, no success: nothing to score",
    "unusable": "never scored: its labels are marked unusable",
}


def _version() -> str:
    try:
        return metadata.version("mastwatch")
    except metadata.PackageNotFoundError:
        return "(not installed)"
