"""Which runs are examined: those of the files, composed ones, and faults planted in the healthy."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from mastwatch.evaluation import datasets
from mastwatch.evaluation.datasets import Case
from mastwatch.evaluation.hosts import hosts as composed_hosts
from mastwatch.evaluation.inject import generate, is_host
from mastwatch.formats import Problem

_POOL = 5  # runs looked at per host wanted, in a quick look
HOSTS = 20
"""Hosts per host set, injector and variant, unless asked otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What was asked for.

    Attributes:
        files: To read; those of ``MASTWATCH_TRACES`` by default.
        sets: Only these sets; all when empty.
        composed: Whether the composed runs are wanted where ``sets`` does not say.
        limit: About so many runs per set, drawn by the seed; None for all.
        hosts: Hosts per host set, injector and variant.
        seed: Of the planted faults, the draws and the bootstrap.
        processes: How many work.
        detectors: Their names; None for all.
        modes: Only these modes; all that have a detector when empty.
    """

    files: Sequence[str] = ()
    sets: Sequence[str] = ()
    composed: bool = False
    limit: int | None = None
    hosts: int = HOSTS
    seed: int = 0
    processes: int = 1
    detectors: Sequence[str] | None = None
    modes: Sequence[str] = ()

    def wants(self, name: str, otherwise: bool = True) -> bool:
        """Whether a set was asked for; ``otherwise`` counts where none was named."""
        return name in self.sets if self.sets else otherwise


@dataclass(slots=True)
class Cases:
    """The runs to examine, and what could not be read.

    Attributes:
        real: Runs as they are, recorded and composed.
        hosts: Runs that faults may be planted in, by the set the result belongs to.
        problems: One sentence each.
    """

    real: list[Case] = field(default_factory=list)
    hosts: dict[str, list[Case]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def each(self, options: Options) -> Iterator[Case]:
        """All runs; the faults are planted as they are asked for."""
        yield from self.real
        for name, cases in self.hosts.items():
            yield from _planted(name, cases, options)


def gather(options: Options) -> Cases:
    """Read the files and compose what else is wanted."""
    cases = Cases()
    recorded: list[Case] = []
    for file in options.files:
        found: list[Case] = []
        for item in datasets.load(file):
            if isinstance(item, Problem):
                cases.problems.append(str(item))
            else:
                found.append(item)
        recorded += found
        if options.wants(datasets.set_name(file)):
            cases.real += datasets.sample(found, options.limit, options.seed)
    composed = [Case(datasets.COMPOSED, record) for record in composed_hosts(seed=options.seed)]
    if options.wants(datasets.COMPOSED, options.composed):
        cases.real += datasets.sample(composed, options.limit, options.seed)
    if options.wants(datasets.GENERATED):
        cases.hosts[datasets.GENERATED] = recorded
    if options.wants(datasets.GENERATED_COMPOSED, options.composed):
        cases.hosts[datasets.GENERATED_COMPOSED] = composed
    return cases


def _planted(name: str, cases: Sequence[Case], options: Options) -> Iterator[Case]:
    """Faults planted in healthy runs, so many per kind of host that none outweighs the others."""
    kinds: dict[tuple[str, str, str], list[datasets.Record]] = {}
    labelled = {
        case.record.get("id") for case in cases if datasets.modes(case.record).get("FM-1.5")
    }
    for case in cases:
        record = case.record
        if datasets.kind(record) == "healthy" and record.get("id") not in labelled:
            about = datasets.speakers(record), datasets.language(record)
            kinds.setdefault((str(record.get("framework")), *about), []).append(record)
    for kind, records in sorted(kinds.items()):
        if options.limit is not None:  # a quick look need not test every run for being a host
            random.Random(f"{options.seed}:{kind}").shuffle(records)
            del records[_POOL * options.limit :]
        fit = [dict(record) for record in records if is_host(dict(record))]
        for made in generate(fit, seed=options.seed, limit=options.hosts):
            yield Case(name, made)
