"""What one panel shows: the answers to its queries, named."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mastwatch.panels.queries import Query, Times
from mastwatch.panels.server import Prometheus, QueryError, Series

_LABEL = re.compile(r"\{\{\s*(\w+)\s*\}\}")


@dataclass(frozen=True, slots=True)
class Named:
    """A series with the name it has in the legend."""

    name: str
    series: Series

    @property
    def last(self) -> float:
        """Its latest value that is one."""
        return next((v for _, v in reversed(self.series.points) if not math.isnan(v)), math.nan)


@dataclass(frozen=True, slots=True)
class Shown:
    """What a panel shows.

    Attributes:
        series: The answers.
        start: Where the time axis begins, seconds.
        end: Where it ends.
        step: Between two points.
        problem: Why there is nothing, in the server's words.
    """

    series: tuple[Named, ...]
    start: float
    end: float
    step: float
    problem: str = ""


def ask(server: Prometheus, queries: Sequence[Query], now: float, times: Times) -> Shown:
    """Ask a panel's queries.

    Args:
        server: Where.
        queries: The panel's; they share a step.
        now: Where the time axis ends.
        times: How long it is.
    """
    step = queries[0].step if queries else times.step
    start, found, problem = now - times.seconds, [], ""
    for query in queries:
        try:
            if query.instant:
                answer = server.query(query.expr, now)
            else:
                answer = server.query_range(query.expr, start, now, step)
        except QueryError as error:
            problem = str(error)
            continue
        found += [Named(_name(query, series), series) for series in answer]
    return Shown(tuple(found), start, now, step, problem)


def _name(query: Query, series: Series) -> str:
    labels = series.labels
    if query.legend in ("", "__auto"):
        return ", ".join(value for key, value in sorted(labels.items()) if key != "__name__")
    name = _LABEL.sub(lambda found: labels.get(found[1], ""), query.legend)
    return " ".join(name.split())


def thresholds(panel: dict[str, Any]) -> list[tuple[float, str]]:
    """Colours by the value from which they hold, ascending."""
    steps = panel["fieldConfig"]["defaults"].get("thresholds", {}).get("steps", [])
    return [
        (-math.inf if step.get("value") is None else step["value"], step["color"]) for step in steps
    ]
