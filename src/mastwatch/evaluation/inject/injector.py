"""What an injector is, and how it is applied: reproducibly, to many hosts."""

from __future__ import annotations

import inspect
import itertools
import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, TypeAlias

from mastwatch.evaluation.inject.records import Host, Planted, Record, finish
from mastwatch.taxonomy import MODES

Params: TypeAlias = Mapping[str, Any]
Plant: TypeAlias = Callable[..., Planted | None]


@dataclass(frozen=True)
class Injector:
    """Plants one kind of fault.

    Attributes:
        name: Under which it is asked for, and stands in the record.
        mode: Code of the failure mode, ``FM-1.3``.
        description: One sentence.
        variants: Parameters it is run with by ``generate``.
        plant: ``plant(host, rng, **params)``: the new run's rows with onset and earliest, or None
            where the host has no place for this fault. It takes all chance from ``rng``.
    """

    name: str
    mode: str
    description: str
    variants: tuple[Params, ...]
    plant: Plant


INJECTORS: dict[str, Injector] = {}
"""All registered injectors by name."""


def injector(
    mode: str, *, variants: Sequence[Params] = ({},), name: str = ""
) -> Callable[[Plant], Plant]:
    """Register a function as an injector; its docstring's first line becomes the description.

    Args:
        mode: Failure mode the fault belongs to.
        variants: Parameters to run it with.
        name: Its name; the function's own by default.

    Raises:
        ValueError: The mode is not in the taxonomy, or the name is taken.
    """
    codes = [known.code for known in MODES]
    if mode not in codes:
        raise ValueError(f"{mode!r} is no failure mode; known: {', '.join(codes)}")

    def register(plant: Plant) -> Plant:
        chosen = name or plant.__name__
        if chosen in INJECTORS:
            raise ValueError(f"an injector named {chosen!r} is registered already")
        description = (inspect.getdoc(plant) or "").partition("\n")[0]
        INJECTORS[chosen] = Injector(chosen, mode, description, tuple(variants), plant)
        return plant

    return register


def inject(
    host: Record,
    injector: str | Injector,
    *,
    seed: int = 0,
    sisters: Sequence[Record] = (),
    **params: Any,
) -> Record | None:
    """Plant one fault in a copy of a run.

    Args:
        host: A healthy run in the record format; not changed.
        injector: A registered name, or an injector of your own.
        seed: Same host, injector, parameters and seed: same record, in every process.
        sisters: Other runs of the host's problem, for injectors that borrow from them.
        **params: The injector's; without any, its first variant.

    Returns:
        The new record with ``injection`` (and ``control`` if it must not be flagged at warn), or
        None where the host has no place for this fault.

    Raises:
        ValueError: No injector has this name, or it names an onset outside its rows.
    """
    chosen = _known(injector)
    used = dict(params or (chosen.variants[0] if chosen.variants else {}))
    host_id = str(host.get("id", ""))
    rng = random.Random(_seed(seed, host_id, chosen.name, used))
    planted = chosen.plant(Host(host, sisters), rng, **used)
    if planted is None:
        return None
    settings = ",".join(f"{key}={value}" for key, value in used.items())
    run_id = "+".join(filter(None, (host_id, chosen.name, settings, str(seed))))
    record = finish(host, planted, run_id)
    planting = {"mode": chosen.mode, "injector": chosen.name, "params": used, "seed": seed}
    record["injection"] = {**planting, **_where(chosen.name, planted), "host": host_id}
    if planted.control:
        record["control"] = True
    return record


def _where(name: str, planted: Planted) -> dict[str, Any]:
    at = {id(row): number for number, row in enumerate(planted.rows)}
    for row in (planted.onset, planted.earliest):
        if row is not None and id(row) not in at:
            raise ValueError(f"injector {name!r}: its onset or earliest is none of its rows")
    onset = at.get(id(planted.onset), -1)
    return {
        "onset": onset,
        "earliest": at.get(id(planted.earliest), onset),
        "target": planted.target and not planted.control,
    }


def generate(
    hosts: Iterable[Record],
    *,
    seed: int = 0,
    injectors: Iterable[str | Injector] | None = None,
    limit: int | None = None,
) -> Iterator[Record]:
    """Plant every variant of every injector in every host that has a place for it.

    Args:
        hosts: Healthy runs (see ``is_host``); runs of one task are each other's sisters.
        seed: For all of them.
        injectors: Which ones; all registered by default.
        limit: Records per injector and variant, from hosts drawn by the seed; all by default.

    Yields:
        Records, by injector, variant and host.
    """
    pool = list(hosts)
    sisters: dict[str, list[Record]] = {}
    for host in pool:
        sisters.setdefault(str(host.get("task", "")), []).append(host)
    for chosen in [_known(i) for i in (INJECTORS if injectors is None else injectors)]:
        for params in chosen.variants:
            drawn = _drawn(pool, seed, chosen, params) if limit is not None else pool
            found = (
                inject(host, chosen, seed=seed, sisters=_others(host, sisters), **params)
                for host in drawn
            )
            yield from itertools.islice((r for r in found if r is not None), limit)


def _others(host: Record, sisters: Mapping[str, Sequence[Record]]) -> list[Record]:
    task = str(host.get("task", ""))
    return [run for run in sisters[task] if run is not host] if task else []


def _drawn(pool: list[Record], seed: int, chosen: Injector, params: Params) -> list[Record]:
    return sorted(pool, key=lambda host: _seed(seed, str(host.get("id")), chosen.name, params))


def _known(name: str | Injector) -> Injector:
    if isinstance(name, Injector):
        return name
    if name not in INJECTORS:
        raise ValueError(f"{name!r} is no injector; known: {', '.join(sorted(INJECTORS))}")
    return INJECTORS[name]


def _seed(seed: int, host: str, name: str, params: Params) -> int:
    """Derive a number that is the same in every process (``hash()`` is salted)."""
    told = json.dumps([seed, host, name, params], sort_keys=True, default=str)
    return int.from_bytes(blake2b(told.encode("utf-8"), digest_size=8).digest(), "big")
