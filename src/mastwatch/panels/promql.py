"""PromQL from the table of metric names, so that no query asks for a name nobody exports.

The language is that of Prometheus 2.42.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mastwatch.metric_names import Metric

TARGET_LABELS = ("job", "instance", "environment")
"""Labels that Prometheus adds at the scrape; ``environment`` may also come from ``metric_labels``.
A series without one matches the empty value, so it may be grouped and filtered by all the same."""
MEMORY = "1d"
"""How long a series must have been unseen to count as new."""


def select(metric: Metric, matchers: Mapping[str, str] | None = None, window: str = "") -> str:
    """A selector.

    Args:
        metric: What to select.
        matchers: By label, the value; one that begins with ``~``, ``!`` or ``!~`` is so compared.
        window: Range, ``5m``; none for the latest value.

    Raises:
        ValueError: The metric has no such label.

    >>> from mastwatch.metric_names import FLAGGED_RUNS
    >>> select(FLAGGED_RUNS, {"mode": "FM-1.5", "severity": "~warn|alert"}, "1h")
    'mastwatch_flagged_runs_total{mode="FM-1.5",severity=~"warn|alert"}[1h]'
    """
    matchers = matchers or {}
    _require(metric, matchers)
    inside = ",".join(f"{label}{_compared(value)}" for label, value in matchers.items())
    return metric.name + (f"{{{inside}}}" if inside else "") + (f"[{window}]" if window else "")


def _compared(value: str) -> str:
    for sign, operator in (("!~", "!~"), ("!", "!="), ("~", "=~")):
        if value.startswith(sign):
            return f'{operator}"{value.removeprefix(sign)}"'
    return f'="{value}"'


def _require(metric: Metric, labels: Iterable[str]) -> None:
    unknown = set(labels) - {*metric.labels, *TARGET_LABELS}
    if unknown:
        raise ValueError(f"{metric.name} has no label {', '.join(sorted(unknown))}")


def total(metric: Metric, inner: str, by: Iterable[str] = (), operator: str = "sum") -> str:
    """An aggregation of what ``inner`` says of ``metric``.

    Raises:
        ValueError: The metric has no label to group by.

    >>> from mastwatch.metric_names import RUNS
    >>> total(RUNS, f"rate({select(RUNS, window='5m')})", by=["outcome"])
    'sum by (outcome) (rate(mastwatch_runs_total[5m]))'
    """
    by = tuple(by)
    _require(metric, by)
    return f"{operator} by ({', '.join(by)}) ({inner})" if by else f"{operator}({inner})"


def gained(
    metric: Metric,
    window: str,
    *,
    by: Iterable[str],
    matchers: Mapping[str, str] | None = None,
    memory: str = MEMORY,
) -> str:
    """By how much a counter grew in a window, first values of new series included.

    ``increase()`` sees nothing of a series that is born at 1: the first finding of a process, or of
    an agent. To it is added the lowest value within the window (a counter's first) of each series
    that was not there before the window. "Before" reaches back ``memory``, so that a gap in the
    scrapes makes no old series look new.
    """
    selector = select(metric, matchers)
    born = (
        f"min_over_time({selector}[{window}])\n"
        f"      unless present_over_time({selector}[{memory}] offset {window})"
    )
    return total(
        metric,
        f"\n  increase({selector}[{window}])\n"
        f'  or label_replace(\n      {born},\n      "born", "in window", "", ""\n  )\n',
        by,
    )
