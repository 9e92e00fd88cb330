"""Faults of meaning: planted in words that say what goes wrong, for judges rather than for rules.

They are told apart from the faults of ``INJECTORS``: a rule that watches form cannot be expected to
find them, so they take no part in ``mastwatch evaluate detectors`` unless asked for by name.
"""

from __future__ import annotations

import inspect
import json
import random
from collections.abc import Callable, Sequence
from functools import cache
from importlib import resources
from typing import Any

from mastwatch.evaluation.inject.injector import Injector, Params, Plant
from mastwatch.evaluation.inject.language import LANGUAGES
from mastwatch.evaluation.inject.records import Host, Message, Planted, Step, flat, pick
from mastwatch.taxonomy import mode as failure_mode

SEMANTIC: dict[str, Injector] = {}
"""The injectors of this kind, by name; give them to ``inject`` or ``generate``."""


def semantic(mode: str, *, variants: Sequence[Params] = ({},)) -> Callable[[Plant], Plant]:
    """Register a function in ``SEMANTIC``; its docstring's first line says what is wrong."""
    code = failure_mode(mode).code

    def register(plant: Plant) -> Plant:
        description = (inspect.getdoc(plant) or "").partition("\n")[0]
        name = plant.__name__
        SEMANTIC[name] = Injector(name, code, description, tuple(variants), plant)
        return plant

    return register


@cache
def _wordings(language: str) -> dict[str, list[list[str]]]:
    file = resources.files("mastwatch.evaluation.inject") / "phrases" / "semantic.json"
    loaded: dict[str, dict[str, list[list[str]]]] = json.loads(file.read_text(encoding="utf-8"))
    return loaded[language if language in LANGUAGES else "en"]


def lines(host: Host, key: str, rng: random.Random, **values: object) -> list[str]:
    """What is said, in the host's language: one of its wordings, filled in."""
    chosen = rng.choice(_wordings(host.language)[key])
    told = []
    for line in chosen:
        for name, value in values.items():
            line = line.replace("{" + name + "}", str(value))
        told.append(line)
    return told


def code(rng: random.Random) -> str:
    """A reference that stands nowhere in the host."""
    return f"{rng.choice('KQXZ')}{rng.choice('BHVW')}-{rng.randint(1000, 9999)}"


def opened_with(host: Host, addition: str) -> Step:
    """The host's opening with something added."""
    return [{**host.rows[0], "content": (host.rows[0]["content"] or "") + addition}]


def place(host: Host, rng: random.Random, least: int = 2) -> int | None:
    """A step in the middle of the run before which something can be put."""
    found: int | None = pick([n for n in host.middle() if n >= least], rng)
    return found


def colleague(host: Host) -> str:
    """Another agent than the lead that speaks in the run and is no person; empty without one."""
    spoke = [row for row in host.rows if row["role"] in ("assistant", "user")]
    others = (row["agent"] for row in spoke[1:] if not host.is_person(row))
    return next((agent for agent in others if agent != host.lead), "")


def planted(
    host: Host,
    rows: Sequence[Message],
    onset: Message,
    what: str,
    *,
    sure: Message | None = None,
    **labels: Any,
) -> Planted:
    """The new run.

    Args:
        host: The run it is made of.
        rows: Its rows.
        onset: The faulty row.
        what: What is wrong, in short; stands in ``labels.planted``.
        sure: The row at which it is certain, where that is a later one.
        **labels: More of them.
    """
    told = {"planted": what, **labels}
    return Planted(rows, onset, sure or onset, target=False, labels=told)


def inserted(host: Host, at: int, new: Sequence[Message]) -> list[Message]:
    """The host's rows with some put in before a step."""
    return flat([*host.steps[:at], list(new), *host.steps[at:]])
