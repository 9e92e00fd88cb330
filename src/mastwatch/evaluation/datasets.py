"""Which recorded runs there are to score on, and what each label is worth."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from mastwatch.evaluation.inject.language import language as told_by
from mastwatch.formats import Problem, Source, Where
from mastwatch.formats.json_values import Value, each_run

TRACES_VARIABLE = "MASTWATCH_TRACES"
"""Names the folder whose folder ``dev`` is read where no file is given."""
COMPOSED = "composed"
"""The set of healthy runs of our own making, in several languages."""
GENERATED = "generated"
"""The set of faults planted in recorded runs."""
GENERATED_COMPOSED = "generated_composed"
"""The set of faults planted in composed runs."""
SUFFIXES = (".jsonl", ".json", ".jsonl.gz", ".json.gz")

Record: TypeAlias = Mapping[str, Any]
Kind: TypeAlias = Literal["injected", "unusable", "labelled", "healthy", "failed", "unlabelled"]
"""What a run is good for; ``healthy`` is a success without labels, the false-alarm denominator."""

WORTH: Mapping[str, str] = {
    "ag2_turncap_silver": "proxy for FM-1.5, weak to medium: positive = ran out of turns, negative "
    "= a run of the same configuration and problem that ended within half of them",
    "ag2_mathchat_outcome": "outcome only: successes are the false-alarm denominator; success is "
    "not health",
    "tau_bench": "outcome only: successes are the false-alarm denominator, failures are no "
    "negatives",
    "who_and_when": "FM-1.3 hint: the orchestrator's own ledger said it was in a loop; its "
    "thoughts are not shown to the detectors",
    "mast_gt_human": "report only: one annotator, and length gives the labels away",
    "mast_iaa19": "never scored: labels are per block of three runs, in three taxonomies",
    "mad_llm_labels_ag2": "never scored: label vectors are shared between unrelated runs",
    "unlabelled_metagpt_chatdev": "no labels",
    COMPOSED: "healthy by construction; the same scenarios in several languages",
}
"""By file name; what a reader must know before believing a figure."""
_CODE = re.compile(r"[123]\.[1-6]")


@dataclass(frozen=True, slots=True)
class Case:
    """One run to score.

    Attributes:
        set: The file's name without suffixes, or one of the sets made here.
        record: As in the file.
    """

    set: str
    record: Record


def default_files(environ: Mapping[str, str] | None = None) -> list[str]:
    """The record files of the folder ``dev`` of MASTWATCH_TRACES, sorted; empty without it."""
    folder = (os.environ if environ is None else environ).get(TRACES_VARIABLE)
    return inside(Path(folder) / "dev") if folder else []


def inside(folder: str | os.PathLike[str]) -> list[str]:
    """The record files of a folder, sorted."""
    path = Path(folder)
    names = sorted(path.iterdir()) if path.is_dir() else []
    return [str(p) for p in names if p.name.lower().endswith(SUFFIXES)]


def set_name(file: str) -> str:
    """What the runs of a file are called together.

    >>> set_name("traces/dev/tau_bench.jsonl.gz")
    'tau_bench'
    """
    name = os.path.basename(file)
    for suffix in sorted(SUFFIXES, key=len, reverse=True):
        if name.lower().endswith(suffix):
            return name[: -len(suffix)]
    return name


def load(file: str) -> Iterator[Case | Problem]:
    """The runs of a file, unchecked; what is no JSON object is a Problem with its place."""
    for run in values(file):
        if isinstance(run, Problem):
            yield run
        elif isinstance(run.value, dict) and isinstance(run.value.get("messages"), list):
            yield Case(set_name(file), run.value)
        else:
            yield Problem(run.where, "is no record of a run (see the record format)")


def values(file: str) -> Iterator[Value | Problem]:
    """The JSON values of a file, one for each run; of a broken one no part counts."""
    try:
        stream = open(file, "rb")  # noqa: SIM115 - closed below; the error is only of opening
    except OSError as error:
        yield Problem(Where(file), f"cannot be opened ({error.strerror})")
        return
    with stream:
        source = Source(stream, file)
        if source.problem is not None:
            yield source.problem
            return
        for item in source.values():
            if isinstance(item, Problem):
                yield item
            elif item.whole:
                yield from each_run(item)


def sample(cases: Sequence[Case], limit: int | None, seed: int) -> list[Case]:
    """About ``limit`` cases in their order; runs of one configuration and problem stay together.

    Without its negative a turn-cap positive could not be scored.
    """
    if limit is None or len(cases) <= limit:
        return list(cases)
    kin: dict[str, list[int]] = {}
    for position, case in enumerate(cases):
        kin.setdefault(pair(case.record), []).append(position)
    drawn = list(kin.values())
    random.Random(f"{seed}:sample").shuffle(drawn)
    chosen: list[int] = []
    for members in drawn:
        if len(chosen) < limit:
            chosen += members
    return [cases[position] for position in sorted(chosen)]


def labels(record: Record) -> Mapping[str, Any]:
    """The record's labels, an empty object where there are none."""
    found = record.get("labels")
    return found if isinstance(found, dict) else {}


def modes(record: Record) -> dict[str, bool]:
    """Which failure modes a record is labelled with, by MAST code.

    >>> modes({"labels": {"fm": {"1.5": 1}}}), modes({"labels": {}})
    ({'FM-1.5': True}, {})
    """
    found = labels(record).get("fm")
    named = found if isinstance(found, dict) else {}
    known = {f"FM-{code}": value == 1 for code, value in named.items() if _CODE.fullmatch(code)}
    ledger = labels(record).get("ledger_weak")
    if isinstance(ledger, dict) and "in_loop_at" in ledger:
        known["FM-1.3"] = bool(ledger["in_loop_at"])
    return known


def injection(record: Record) -> Mapping[str, Any] | None:
    """What was planted in a generated run; None in a real one."""
    found = record.get("injection")
    return found if isinstance(found, dict) else None


def kind(record: Record) -> Kind:
    """What a run is good for."""
    if injection(record) is not None:
        return "injected"
    said = labels(record)
    if said.get("usable_per_trace") is False or "DEFECT" in str(said.get("scheme", "")):
        return "unusable"
    if modes(record):
        return "labelled"
    success = record.get("success")
    if success is True:
        return "healthy"
    return "failed" if success is False else "unlabelled"


def turn_cap(record: Record) -> int | None:
    """The cap on messages under which a run was made, where the labels say it."""
    cap = labels(record).get("turn_cap")
    return cap if isinstance(cap, int) else None


def problem(record: Record) -> str:
    """What the run was about: runs of one problem are kin and are resampled together."""
    return str(record.get("question_id") or record.get("task") or record.get("id"))


def language(record: Record) -> str:
    """Of the run: as the record says, else by the letters of its task."""
    return str(record.get("language") or told_by(str(record.get("task") or "")))


def pair(record: Record) -> str:
    """Configuration and problem: what a turn-cap positive shares with its negative."""
    return f"{labels(record).get('config')}:{problem(record)}"


def speakers(record: Record) -> str:
    """``two agents`` or ``group``, by who speaks; tools and the system do not."""
    names = {
        row.get("agent")
        for row in record["messages"]
        if isinstance(row, dict) and row.get("role") in ("user", "assistant")
    }
    return "two agents" if len(names) <= 2 else "group"


def restart_rows(messages: Iterable[object]) -> list[int]:
    """Rows at which the log says that the harness began anew.

    The system rows before the first utterance are the harness's own beginning; wherever the first
    of them comes again, followed by an utterance before the next such row, the run was restarted.
    """
    opening: object = None
    begun = False
    pending: int | None = None
    found: list[int] = []
    for position, row in enumerate(messages):
        if not isinstance(row, dict):
            continue
        if row.get("role") != "system":
            begun = True
            if pending is not None:
                found.append(pending)
                pending = None
        elif opening is None and not begun:
            opening = row.get("content")
        elif begun and pending is None and row.get("content") == opening:
            pending = position
    return found
