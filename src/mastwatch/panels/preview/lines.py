"""Lines and stacked areas over time, as SVG."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from mastwatch.panels.preview.data import Named, Shown
from mastwatch.panels.preview.units import ceiling, clock, shown
from mastwatch.reports.html.markup import Html, el

HEIGHT, LEFT, BOTTOM, TOP = 190, 58, 20, 8
SERIES_SHOWN = 12
COLOURS = 12
_Point = tuple[float, float]


def chart(data: Shown, width: int, unit: str, most: float | None, stacked: bool) -> Html:
    """The chart with its axes and its legend."""
    kept = _largest(data.series)
    curves = [_curve(item, data) for item in kept]
    floors: list[list[float]] = [[0.0] * len(curve) for curve in curves]
    if stacked:
        floors, curves = _stack(curves)
    highest = max((v for curve in curves for v in curve if math.isfinite(v)), default=0.0)
    top = most if most is not None and highest <= most else ceiling(highest)
    scale = _Scale(data, width, top)
    drawn = [
        el("g", *_shape(curve, floor, scale, stacked), class_=f"c{n % COLOURS}")
        for n, (curve, floor) in enumerate(zip(curves, floors, strict=True))
    ]
    picture = el(
        "svg",
        _grid(scale, unit),
        drawn,
        viewBox=f"0 0 {width} {HEIGHT}",
        role="img",
        aria_label=f"{len(kept)} series over time",
    )
    return el("div", picture, _legend(kept, unit, len(data.series) - len(kept)))


def _largest(series: Sequence[Named]) -> list[Named]:
    ranked = sorted(series, key=lambda item: (-_peak(item), item.name))
    return sorted(ranked[:SERIES_SHOWN], key=lambda item: item.name)


def _peak(item: Named) -> float:
    return max((v for _, v in item.series.points if math.isfinite(v)), default=0.0)


def _curve(item: Named, data: Shown) -> list[float]:
    """Its values at each step; nan where there is none."""
    values = {round((at - data.start) / data.step): value for at, value in item.series.points}
    steps = round((data.end - data.start) / data.step) + 1
    return [values.get(n, math.nan) for n in range(steps)]


def _stack(curves: list[list[float]]) -> tuple[list[list[float]], list[list[float]]]:
    """Each on top of the ones before; a missing value adds nothing."""
    floors, tops = [], []
    below = [0.0] * (len(curves[0]) if curves else 0)
    for curve in curves:
        floors.append(below)
        below = [
            low + (v if math.isfinite(v) else 0.0) for low, v in zip(below, curve, strict=True)
        ]
        tops.append(below)
    return floors, tops


class _Scale:
    """From values to places."""

    def __init__(self, data: Shown, width: int, top: float) -> None:
        self.data, self.width, self.top = data, width, top
        self.steps = max(1, round((data.end - data.start) / data.step))

    def x(self, step: float) -> float:
        return LEFT + (self.width - LEFT - 6) * step / self.steps

    def y(self, value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - min(value, self.top) / self.top)


def _shape(curve: list[float], floor: list[float], scale: _Scale, stacked: bool) -> Iterator[Html]:
    """A line for each stretch without a gap; stacked, with the area down to the one below."""
    for stretch in _stretches(curve):
        line = [(scale.x(n), scale.y(curve[n])) for n in stretch]
        if len(line) == 1:
            yield el("circle", cx=f"{line[0][0]:.1f}", cy=f"{line[0][1]:.1f}", r=2, class_="dot")
            continue
        base = [(scale.x(n), scale.y(floor[n])) for n in reversed(stretch)]
        if stacked:
            yield el("polygon", points=_points(line + base), class_="deep")
        yield el("polyline", points=_points(line), class_="line")


def _stretches(curve: list[float]) -> Iterator[list[int]]:
    stretch: list[int] = []
    for n, value in enumerate([*curve, math.nan]):
        if math.isfinite(value):
            stretch.append(n)
        elif stretch:
            yield stretch
            stretch = []


def _points(points: list[_Point]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _grid(scale: _Scale, unit: str) -> Iterator[Html]:
    for part in range(5):
        value = scale.top * part / 4
        y = f"{scale.y(value):.1f}"
        yield el("line", x1=LEFT, x2=scale.width - 6, y1=y, y2=y, class_="grid")
        if part % 2 == 0:
            yield el("text", shown(value, unit), x=LEFT - 6, y=y, class_="tick left")
    yield from time_axis(scale.data, LEFT, scale.width - 6, HEIGHT - 4)


def time_axis(data: Shown, left: float, right: float, y: int) -> Iterator[Html]:
    """Five times below a chart; the outer ones stay inside the picture."""
    span = data.end - data.start
    for part in range(5):
        at, x = data.start + span * part / 4, left + (right - left) * part / 4
        side = "start" if part == 0 else "end" if part == 4 else "middle"
        yield el("text", clock(at, span), x=f"{x:.1f}", y=y, text_anchor=side, class_="tick")


def _legend(kept: list[Named], unit: str, hidden: int) -> Html:
    entries = [
        el(
            "li",
            el("i", class_=f"key c{n % COLOURS}"),
            f"{item.name or 'value'} ",
            el("b", shown(item.last, unit)),
        )
        for n, item in enumerate(kept)
    ]
    more = el("li", f"and {hidden} more") if hidden else None
    return el("ul", entries, more, class_="legend")
