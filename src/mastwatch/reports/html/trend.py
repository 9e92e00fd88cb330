"""Small charts over time, as inline SVG."""

from __future__ import annotations

from collections.abc import Sequence

from mastwatch.reports.html.markup import Child, Html, el
from mastwatch.reports.tallies import Period

_HEIGHT = 120
_SQUARE = el("span", "■ ", class_="shape", aria_hidden="true")
_SPARK_WIDTH, _SPARK_HEIGHT = 90, 18


def trend(periods: Sequence[Period]) -> Html | None:
    """Runs per day or week, those with a failure mode at the bottom of each bar."""
    if len(periods) < 2:
        return None
    most = max(period.runs for period in periods)
    width = 100 / len(periods)
    bars = [
        _bar(period, f"{number * width + 0.1 * width:.2f}%", f"{0.8 * width:.2f}%", most)
        for number, period in enumerate(periods)
    ]
    first, last = periods[0].start, periods[-1].start
    texts: list[Child] = [
        el("text", first, x=0, y=_HEIGHT + 16),
        el("text", last, x="100%", y=_HEIGHT + 16, text_anchor="end"),
    ]
    picture = el(
        "svg", bars, texts, width="100%", height=_HEIGHT + 22, role="img", class_="trend",
        aria_label=f"Runs from {first} to {last}; at most {most} in one bar",
    )  # fmt: skip
    keys = el(
        "p",
        el("span", _SQUARE, el("span", "runs with a failure mode"), class_="key present"),
        el("span", _SQUARE, el("span", "other runs"), class_="key rest"),
        class_="keys",
    )
    return el("section", el("h2", "Over time"), picture, keys, id="trend")


def _bar(period: Period, x: str, width: str, most: int) -> Html:
    runs = round(_HEIGHT * period.runs / most)
    flagged = round(_HEIGHT * period.flagged / most)
    shapes = [
        el("title", f"{period.start}: {period.runs} runs, {period.flagged} with a failure mode"),
        el("rect", x=x, y=_HEIGHT - runs, width=width, height=runs, class_="rest"),
        el("rect", x=x, y=_HEIGHT - flagged, width=width, height=flagged, class_="value"),
    ]
    return el("g", shapes)


def sparkline(periods: Sequence[Period], slug: str) -> Html | None:
    """Share of a mode over time; periods in which it was not evaluated are left out."""
    shares = [
        (number, period.present[slug] / period.evaluated[slug])
        for number, period in enumerate(periods)
        if period.evaluated.get(slug)
    ]
    if len(shares) < 2:
        return None
    last = len(periods) - 1
    points = " ".join(
        f"{_SPARK_WIDTH * number / last:.1f},{(_SPARK_HEIGHT - 2) * (1 - share) + 1:.1f}"
        for number, share in shares
    )
    label = f"from {shares[0][1]:.0%} to {shares[-1][1]:.0%}"
    line = el("polyline", points=points)
    return el(
        "svg", line, width=_SPARK_WIDTH, height=_SPARK_HEIGHT, class_="spark", role="img",
        aria_label=label,
    )  # fmt: skip
