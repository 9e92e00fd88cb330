"""A dashboard as data: what it shows, before any format of Grafana's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from mastwatch.metric_names import Metric
from mastwatch.panels import promql

Kind = Literal["stat", "lines", "stack", "bars", "heat", "table"]
Colour = Literal["good", "bad", "plain"]
WIDTH = 24
"""Columns of Grafana's grid."""


@dataclass(frozen=True, slots=True)
class Query:
    """One query of a panel.

    Attributes:
        expr: PromQL, with Grafana's variables.
        legend: How a series is named, ``{{mode}}``.
        exemplars: Whether to ask for exemplars, which lead to traces.
    """

    expr: str
    legend: str = ""
    exemplars: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel.

    Attributes:
        title: Its heading.
        description: What it says and what to make of it.
        kind: How it is drawn.
        queries: What it shows.
        unit: Grafana's name of the unit.
        width: Columns of 24.
        colour: ``bad`` where anything above 0 is bad news, ``good`` where more is better.
        most: Upper end of the axis, None for open.
        empty: What having no data means; only where that is as good as an answer.
    """

    title: str
    description: str
    kind: Kind
    queries: tuple[Query, ...]
    unit: str = "short"
    width: int = 8
    colour: Colour = "plain"
    most: float | None = None
    empty: str = ""

    @property
    def decimals(self) -> int | None:
        """Counts over a time are whole, though Prometheus estimates them."""
        counts = self.kind in ("stat", "bars", "table") and self.unit == "short"
        return 0 if counts and self.most is None else None

    @property
    def height(self) -> int:
        """Rows of the grid."""
        return {"stat": 4, "heat": 10}.get(self.kind, 8)


@dataclass(frozen=True, slots=True)
class Row:
    """A heading over panels; never collapsed."""

    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable whose values are those of a label.

    Attributes:
        label: The label, and the variable's name.
        metric: Where its values are.
        title: What people see.
    """

    label: str
    metric: Metric
    title: str


@dataclass(frozen=True, slots=True)
class TextVariable:
    """A variable that people type, ids and addresses."""

    name: str
    title: str
    default: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """A link in the head of a dashboard."""

    title: str
    url: str
    tooltip: str


@dataclass(frozen=True, slots=True)
class Dashboard:
    """One dashboard.

    Attributes:
        name: Of the file; ``mastwatch-`` and it are the uid.
        title: Its heading.
        description: What it is for.
        rows: Its panels.
        variables: Filters; a query takes those whose label its metric has.
        texts: Variables that people type.
        links: Beside those to the other dashboards.
    """

    name: str
    title: str
    description: str
    rows: tuple[Row, ...]
    variables: tuple[Variable, ...]
    texts: tuple[TextVariable, ...] = ()
    links: tuple[Link, ...] = field(default=())


class Scope:
    """Builds queries that are filtered by a dashboard's variables.

    Args:
        variables: The dashboard's.
    """

    def __init__(self, variables: tuple[Variable, ...]) -> None:
        self._labels = [variable.label for variable in variables]

    def matchers(self, metric: Metric, matchers: Mapping[str, str]) -> dict[str, str]:
        """What is asked for, and a filter for each variable whose label the metric has."""
        filters = {
            label: f"~${label}"
            for label in self._labels
            if label in (*metric.labels, *promql.TARGET_LABELS)
        }
        return {**filters, **matchers}

    def now(self, metric: Metric, by: str = "", operator: str = "sum", **matchers: str) -> str:
        """The latest values of a gauge, aggregated."""
        inner = promql.select(metric, self.matchers(metric, matchers))
        return promql.total(metric, inner, by.split(), operator)

    def rate(self, metric: Metric, by: str = "", **matchers: str) -> str:
        """Per second, over time."""
        inner = promql.select(metric, self.matchers(metric, matchers), "$__rate_interval")
        return promql.total(metric, f"rate({inner})", by.split())

    def hourly(self, metric: Metric, by: str = "", **matchers: str) -> str:
        """In a sliding hour: for what is too rare for a rate to be more than spikes."""
        return self._gained("1h", metric, by, matchers)

    def each(self, metric: Metric, by: str = "", **matchers: str) -> str:
        """In each step of the time axis: the cells of a heat map."""
        return self._gained("$__interval", metric, by, matchers)

    def per_minute(self, metric: Metric, by: str = "", **matchers: str) -> str:
        """Per minute, over time."""
        return f"60 * {self.rate(metric, by, **matchers)}"

    def gained(self, metric: Metric, by: str = "", **matchers: str) -> str:
        """In the whole time shown."""
        return self._gained("$__range", metric, by, matchers)

    def _gained(self, window: str, metric: Metric, by: str, matchers: Mapping[str, str]) -> str:
        """First values of new series included: of a process that failed before it was scraped."""
        filtered = self.matchers(metric, matchers)
        return promql.gained(metric, window, by=by.split(), matchers=filtered)

    def quantile(self, share: float, metric: Metric, by: str = "") -> str:
        """A quantile of a histogram."""
        bucket = metric.part("bucket")
        return f"histogram_quantile({share}, {self.rate(bucket, f'{by} le')})"

    def quantiles(self, metric: Metric, by: str = "") -> tuple[Query, ...]:
        """Median and 95th percentile."""
        name = f"{{{{{by}}}}} " if by else ""
        return (
            Query(self.quantile(0.5, metric, by), f"{name}median"),
            Query(self.quantile(0.95, metric, by), f"{name}95 %"),
        )
