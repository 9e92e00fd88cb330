"""Attributes labelled runs by several methods, and goes on where it was interrupted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from mastwatch.attribution import Attributor
from mastwatch.evaluation.attribution.cases import Labelled
from mastwatch.evaluation.judge import Hopeless
from mastwatch.evaluation.kept import append, begin
from mastwatch.store import Attribution, Method
from mastwatch.store.codec import attribution_as_dict, attribution_from_json

Key: TypeAlias = tuple[Method, str]
"""A method and a run's id."""
_HOPELESS = ("auth", "unreachable")
_PASSING = (*_HOPELESS, "budget", "rate_limited", "timeout", "provider_error")
"""Faults of the server or the connection, not of the model: such a run is asked about again."""


@dataclass(slots=True)
class Kept:
    """Attributions, and the file that holds them so that an interrupted evaluation can go on.

    Attributes:
        found: By method and run.
        path: Where they are appended; None for nowhere.
    """

    found: dict[Key, Attribution] = field(default_factory=dict)
    path: Path | None = None

    @classmethod
    def load(cls, path: Path | None, model: str = "") -> Kept:
        """Read what is there.

        A line that was cut off by an interruption, and a run that the server failed on, are asked
        about again. What the model itself gave nothing readable on is not: that would be a second
        try for the bad answers only.

        Args:
            path: The file; it is begun where there is none.
            model: Whose answers they are, and to which question.

        Raises:
            ValueError: It holds the answers of another model.
            OSError: It cannot be read or begun.
        """
        kept = cls(path=path)
        for value in begin(path, {"model": model}) if path is not None else ():
            try:
                found = attribution_from_json(json.dumps(value))
            except ValueError:
                continue
            if not failed(found):
                kept.found[found.method, found.run_id] = found
        return kept

    def add(self, found: Attribution) -> None:
        """Take in an attribution."""
        self.found[found.method, found.run_id] = found
        if self.path is not None:
            append(self.path, attribution_as_dict(found))


def failed(found: Attribution) -> bool:
    """Whether there is no answer because of the server; the model may still have one."""
    return found.result == "not_evaluated" and found.reason in _PASSING


def open_keys(
    cases: Sequence[Labelled], methods: Sequence[Method], found: Mapping[Key, Attribution]
) -> list[Key]:
    """What is still to be asked."""
    keys = [(method, case.trace.run_id) for method in methods for case in cases]
    return [key for key in keys if key not in found or failed(found[key])]


async def attribute_all(
    cases: Sequence[Labelled],
    methods: Sequence[Method],
    attributor_for: Callable[[Labelled, Method], Attributor],
    kept: Kept,
    *,
    at_once: int = 4,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> None:
    """Attribute what is not attributed yet.

    Args:
        cases: The runs.
        methods: How each is attributed.
        attributor_for: Who attributes a run by a method; a live model's is the same for all runs.
        kept: Takes the attributions; those it holds are not made again.
        at_once: Runs under way at a time.
        tell: Called with what is done and all there is.

    Raises:
        Hopeless: The server cannot be reached or refuses us; nothing else is tried.
    """
    by_id = {case.trace.run_id: case for case in cases}
    todo = open_keys(cases, methods, kept.found)
    total = len(cases) * len(methods)
    done = total - len(todo)
    left = iter(todo)

    async def work() -> None:
        nonlocal done
        for method, run_id in left:
            case = by_id[run_id]
            found = await attributor_for(case, method).attribute(case.trace)
            if failed(found) and found.reason in _HOPELESS:
                raise Hopeless(next(iter(found.problems), found.reason))
            kept.add(found)
            done += 1
            tell(done, total)

    await asyncio.gather(*(work() for _ in range(max(1, at_once))))
