"""What is not drawn as lines: single values, bars, heat maps, tables."""

from __future__ import annotations

import math

from mastwatch.panels.preview.data import Shown
from mastwatch.panels.preview.lines import time_axis
from mastwatch.panels.preview.units import clock, shown
from mastwatch.reports.html.markup import Html, el

BARS_SHOWN, ROWS_SHOWN = 15, 12
_BAR, _CELL, _LETTER = 20, 17, 7


def stat(data: Shown, unit: str, steps: list[tuple[float, str]]) -> Html:
    """One large number, in the colour of its threshold."""
    value = data.series[0].last
    colour = "plain" if math.isnan(value) else _colour(value, steps)
    return el("p", shown(value, unit), class_=f"stat {colour}")


def _colour(value: float, steps: list[tuple[float, str]]) -> str:
    return next((colour for least, colour in reversed(steps) if value >= least), "plain")


def bars(data: Shown, width: int, unit: str, most: float | None) -> Html:
    """A bar for each series, the longest first."""
    ranked = sorted(data.series, key=lambda item: (-_number(item.last), item.name))
    kept, hidden = ranked[:BARS_SHOWN], len(ranked) - BARS_SHOWN
    highest = most or max((_number(item.last) for item in kept), default=0.0) or 1.0
    longest = max((len(item.name) for item in kept), default=0)
    label = min(_LETTER * longest + 16, width // 2)
    room = width - label - 70
    drawn = []
    for n, item in enumerate(kept):
        y, length = n * _BAR, room * max(0.0, min(1.0, _number(item.last) / highest))
        drawn += [
            el("text", _cut(item.name or "unnamed", label // _LETTER), x=label - 8, y=y + 14,
               class_="tick right"),
            el("rect", x=label, y=y + 4, width=room, height=12, class_="track"),
            el("rect", x=label, y=y + 4, width=f"{length:.1f}", height=12, class_="bar"),
            el("text", shown(item.last, unit), x=f"{label + room + 8}", y=y + 14, class_="value"),
        ]  # fmt: skip
    more = el("p", f"and {hidden} more", class_="quiet") if hidden > 0 else None
    view = f"0 0 {width} {max(1, len(kept)) * _BAR + 4}"
    return el("div", el("svg", drawn, viewBox=view, role="img", aria_label="bars"), more)


def heat(data: Shown, width: int, unit: str) -> Html:
    """A row for each series, a column for each stretch of time; strong colour is much."""
    kept = sorted(data.series, key=lambda item: item.name)
    highest = max(
        (v for item in kept for _, v in item.series.points if math.isfinite(v)), default=0.0
    )
    columns = round((data.end - data.start) / data.step) + 1
    label = 70
    room = (width - label - 6) / columns
    drawn = []
    for row, item in enumerate(kept):
        y = row * _CELL
        drawn.append(el("text", item.name, x=label - 8, y=y + 12, class_="tick right"))
        drawn.append(el("rect", x=label, y=y + 1, width=f"{room * columns:.1f}", height=_CELL - 2,
                        class_="track"))  # fmt: skip
        for at, value in item.series.points:
            if highest and math.isfinite(value) and value > 0:
                x = label + room * round((at - data.start) / data.step)
                drawn.append(
                    _cell(
                        x,
                        y,
                        room,
                        value / highest,
                        f"{item.name} {clock(at, data.end - data.start)}: {shown(value, unit)}",
                    )
                )
    drawn += time_axis(data, label, width - 6, len(kept) * _CELL + 14)
    view = f"0 0 {width} {len(kept) * _CELL + 20}"
    scale = el("p", f"strongest colour: {shown(highest, unit)}", class_="quiet")
    return el("div", el("svg", drawn, viewBox=view, role="img", aria_label="heat map"), scale)


def _cell(x: float, y: int, room: float, strength: float, text: str) -> Html:
    return el(
        "rect", el("title", text),
        x=f"{x:.1f}", y=y + 1, width=f"{max(1.0, room - 1):.1f}", height=_CELL - 2,
        fill_opacity=f"{0.15 + 0.85 * strength:.2f}", class_="hot",
    )  # fmt: skip


def table(data: Shown, unit: str) -> Html:
    """Labels and values, the largest first."""
    ranked = sorted(data.series, key=lambda item: (-_number(item.last), item.name))
    labels = sorted({key for item in ranked for key in item.series.labels if key != "__name__"})
    rows = [
        el(
            "tr",
            [el("td", item.series.labels.get(key, "")) for key in labels],
            el("td", shown(item.last, unit), class_="number"),
        )
        for item in ranked[:ROWS_SHOWN]
    ]
    hidden = len(ranked) - len(rows)
    more = el("p", f"and {hidden} more", class_="quiet") if hidden else None
    head = el("tr", [el("th", key) for key in labels], el("th", "value"))
    return el("div", el("table", el("thead", head), el("tbody", rows)), more)


def _number(value: float) -> float:
    return value if math.isfinite(value) else 0.0


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
