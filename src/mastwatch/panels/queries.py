"""Every query of a dashboard, with Grafana's variables filled in."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

Kind = Literal["panel", "variable", "annotation", "rule"]
_VARIABLE = re.compile(r"\$(?:\{(\w+)(?::\w+)?\}|(\w+))")
_INTERVAL = re.compile(r"(\d+)([smh])")
_SECONDS = {"s": 1, "m": 60, "h": 3_600}
_LABEL_VALUES = re.compile(r"label_values\((?:(?P<of>.+),\s*)?(?P<label>\w+)\)\s*")


@dataclass(frozen=True, slots=True)
class Query:
    """One query.

    Attributes:
        kind: What asks.
        where: The dashboard, or the file of rules.
        title: The panel, variable or rule.
        ref: Which of a panel's queries.
        expr: PromQL that a server understands.
        instant: Whether only the latest value counts.
        step: Seconds between two points, where it is no instant query.
        legend: How its series are named.
        may_be_empty: Whether having nothing to say is as good as an answer.
    """

    kind: Kind
    where: str
    title: str
    ref: str
    expr: str
    instant: bool = True
    step: int = 0
    legend: str = ""
    may_be_empty: bool = False


@dataclass(frozen=True, slots=True)
class Times:
    """The time that is shown.

    Attributes:
        seconds: How long, up to now.
        step: Between two points.
        scrape: Between two scrapes.
    """

    seconds: int = 3600
    step: int = 60
    scrape: int = 15

    def of(self, panel: Mapping[str, Any]) -> Times:
        """The same with the step that a panel asks for: few points, or a least interval."""
        points, least = panel.get("maxDataPoints"), _INTERVAL.fullmatch(panel.get("interval") or "")
        step = max(self.step, math.ceil(self.seconds / points) if points else 0)
        if least:
            step = max(step, int(least[1]) * _SECONDS[least[2]])
        return replace(self, step=step)

    def variables(self) -> dict[str, str]:
        """Grafana's own variables; the rate interval as its Prometheus data source takes it."""
        rate = max(self.step + self.scrape, 4 * self.scrape)
        return {
            "__interval": f"{self.step}s",
            "__rate_interval": f"{rate}s",
            "__range": f"{self.seconds}s",
            "__range_s": str(self.seconds),
        }


def fill(text: str, values: Mapping[str, str]) -> str:
    """Fill variables in; those of the dashboard read ``.*``, as if ``All`` were chosen.

    >>> fill('rate(x{job=~"$job"}[$__rate_interval])', {"__rate_interval": "60s"})
    'rate(x{job=~".*"}[60s])'
    """
    return _VARIABLE.sub(lambda found: values.get(found[1] or found[2], ".*"), text)


def panels(board: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The panels of a dashboard in order, those inside rows included, rows too."""
    for panel in board.get("panels", ()):
        yield panel
        yield from panel.get("panels") or ()


def panel_queries(board: Mapping[str, Any], panel: Mapping[str, Any], times: Times) -> list[Query]:
    """The queries of one panel; one that says what no data means may have none."""
    defaults = (panel.get("fieldConfig") or {}).get("defaults") or {}
    times = times.of(panel)
    return [
        Query(
            kind="panel",
            where=str(board.get("title", "")),
            title=str(panel.get("title", "")),
            ref=str(target.get("refId", "")),
            expr=fill(target["expr"], times.variables()),
            instant=bool(target.get("instant")),
            step=times.step,
            legend=str(target.get("legendFormat", "")),
            may_be_empty=bool(defaults.get("noValue")),
        )
        for target in panel.get("targets") or ()
        if target.get("expr")
    ]


def dashboard_queries(board: Mapping[str, Any], times: Times) -> Iterator[Query]:
    """All queries of a dashboard: panels, variables, annotations."""
    for panel in panels(board):
        yield from panel_queries(board, panel, times)
    yield from _variable_queries(board, times)
    title = str(board.get("title", ""))
    for note in (board.get("annotations") or {}).get("list") or ():
        if note.get("expr"):
            expr = fill(note["expr"], times.variables())
            name = str(note.get("name", ""))
            yield Query("annotation", title, name, "", expr, may_be_empty=True)


def _variable_queries(board: Mapping[str, Any], times: Times) -> Iterator[Query]:
    """``label_values(x, label)`` has values where some x has the label."""
    for variable in (board.get("templating") or {}).get("list") or ():
        asked = variable.get("query")
        text = asked.get("query", "") if isinstance(asked, dict) else asked
        if variable.get("type") != "query" or not text:
            continue
        name = str(variable.get("name", ""))
        found = _LABEL_VALUES.fullmatch(text)
        if found:
            of, label = found["of"] or '{__name__=~".+"}', found["label"]
            text = f"group by ({label}) ({of}) unless group by ({label}) ({label_less(of, label)})"
        expr = fill(text, times.variables())
        # Whether deployments have this label is up to them.
        optional = name == "environment"
        yield Query("variable", str(board.get("title", "")), name, "", expr, may_be_empty=optional)


def label_less(selector: str, label: str) -> str:
    """The same selector, of series without the label.

    >>> label_less('up{job="a"}', "env"), label_less("up", "env")
    ('up{job="a",env=""}', 'up{env=""}')
    """
    head, brace, rest = selector.strip().partition("{")
    inside = rest.rstrip().removesuffix("}")
    joined = f"{inside}," if brace and inside else ""
    return f'{head}{{{joined}{label}=""}}'
