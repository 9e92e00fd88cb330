"""The set a judge is measured on: faults of every mode planted in healthy runs, and clean runs.

What is true is known by construction: the planted mode is present, a clean run shows none. How
artificial the faults are is said in docs/calibration.md.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, zip_longest

from mastwatch import taxonomy
from mastwatch.evaluation import datasets
from mastwatch.evaluation.inject import SEMANTIC, Injector, generate, is_host
from mastwatch.evaluation.inject.records import Record
from mastwatch.evaluation.streaming import Detectors, read
from mastwatch.findings import Finding
from mastwatch.replay import replay
from mastwatch.store import Trace
from mastwatch.store.build import build

PER_MODE = 20
"""Runs per mode; 15 positives are the least that a goal is stated for."""
CLEAN = 40
_BY_RULE: Mapping[str, tuple[str, ...]] = {
    "FM-1.3": ("exact_call", "exact_message", "cycle"),
    "FM-1.5": ("work_after_claim", "thanks_after_claim", "nagger"),
    "FM-2.1": ("opening_replay", "task_reissue"),
}
"""Of the faults that rules can see, those that are plain in the transcript."""
_SPILLS: Mapping[str, tuple[str, ...]] = {
    "FM-1.1": ("FM-1.2",),
    "FM-1.2": ("FM-1.1",),
    "FM-1.3": ("FM-1.4", "FM-1.5", "FM-2.1"),
    "FM-1.5": ("FM-1.3", "FM-2.1", "FM-2.3"),
    "FM-2.1": ("FM-1.3", "FM-1.4"),
    "FM-2.2": ("FM-3.2",),
    "FM-2.4": ("FM-2.6", "FM-3.2"),
    "FM-2.5": ("FM-1.4", "FM-3.2"),
    "FM-3.1": ("FM-1.1", "FM-3.2"),
    "FM-3.2": ("FM-1.1", "FM-3.1"),
    "FM-3.3": ("FM-3.2",),
}
"""Modes that a planted one may well bring with it: of these nothing is claimed in such a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedCase:
    """One run to judge, with what is true of it.

    Attributes:
        trace: The run, with what the detectors said of it.
        mode: Code of the planted mode; empty for a clean run.
        injector: What planted it.
        what: What is wrong, in short.
        onset, sure: Rows of the fault, -1 in a clean run.
        truth: By slug; modes of which nothing is known are missing.
        group: Problem of the host: runs of one problem are kin.
        language: Of the host.
        injection: Name of the text addressed to the judge that was put in; usually none.
    """

    trace: Trace
    mode: str = ""
    injector: str = ""
    what: str = ""
    onset: int = -1
    sure: int = -1
    truth: Mapping[str, bool]
    group: str = ""
    language: str = ""
    injection: str = ""

    @property
    def slug(self) -> str:
        """Of the planted mode; empty for a clean run."""
        return taxonomy.mode(self.mode).slug if self.mode else ""


def cases(
    hosts: Iterable[Record],
    detectors: Detectors,
    *,
    per_mode: int = PER_MODE,
    clean: int = CLEAN,
    seed: int = 0,
    modes: Sequence[str] = (),
) -> list[JudgedCase]:
    """Plant faults in healthy runs and add clean ones.

    Args:
        hosts: Runs in the record format; those that are no healthy hosts are left out.
        detectors: Their findings go into the traces, as in a live run.
        per_mode: Runs per mode, spread over its injectors.
        clean: Clean runs.
        seed: Draws hosts, places and wordings.
        modes: Codes; all 14 when empty.
    """
    fit = [host for host in hosts if is_host(host)]
    wanted = [mode.code for mode in taxonomy.MODES if not modes or mode.code in modes]
    records = [record for mode in wanted for record in _planted(fit, mode, per_mode, seed)]
    drawn = random.Random(f"{seed}:clean").sample(fit, min(clean, len(fit)))
    made = (_case(record, detectors) for record in (*records, *drawn))
    return [case for case in made if case is not None]


def _planted(hosts: Sequence[Record], mode: str, count: int, seed: int) -> Iterator[Record]:
    chosen: list[str | Injector] = [*_BY_RULE.get(mode, ())]
    chosen += [injector for injector in SEMANTIC.values() if injector.mode == mode]
    streams = [_sound(generate(hosts, seed=seed, injectors=[i], limit=count)) for i in chosen]
    rounds = chain.from_iterable(zip_longest(*streams))
    return islice((record for record in rounds if record is not None), count)


def _sound(records: Iterable[Record]) -> Iterator[Record]:
    """Faults that are plain: no twin controls, and of those for rules only the targets."""
    for record in records:
        told = record["injection"]
        if not record.get("control") and (told["target"] or told["injector"] in SEMANTIC):
            yield record


def _case(record: Record, detectors: Detectors) -> JudgedCase | None:
    run = read(record)
    if run is None:
        return None
    told = datasets.injection(record) or {}
    mode = str(told.get("mode", ""))
    found = tuple(v for v in replay(run.events, detectors) if isinstance(v, Finding))
    labels = datasets.labels(record)
    return JudgedCase(
        # What the record says beside its messages is the answer sheet: it stays out of the trace.
        trace=replace(build(run.id, run.events), findings=found),
        mode=mode,
        injector=str(told.get("injector", "")),
        what=str(labels.get("planted", "")),
        onset=int(told.get("onset", -1)),
        sure=int(told.get("earliest", -1)),
        truth=_truth(mode),
        group=datasets.problem(record),
        language=datasets.language(record),
    )


def _truth(planted: str) -> dict[str, bool]:
    unknown = _SPILLS.get(planted, ())
    return {mode.slug: mode.code == planted for mode in taxonomy.MODES if mode.code not in unknown}
