"""Numbers as people read them, in Grafana's units."""

from __future__ import annotations

import math
from datetime import datetime, timezone

_LARGE = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def shown(value: float, unit: str = "short") -> str:
    """A value with its unit; ``count`` is a whole number.

    >>> shown(0.125, "percentunit"), shown(93, "s"), shown(0.004, "s"), shown(12300)
    ('12.5 %', '1.55 min', '4 ms', '12.3 k')
    """
    if math.isnan(value):
        return "no value"
    if math.isinf(value):
        return "unbounded"
    if unit == "percentunit":
        return f"{_short(100 * value)} %"
    if unit == "currencyUSD":
        return f"${value:,.2f}" if value >= 0.01 or value == 0 else f"${value:.5f}"
    if unit == "s":
        return _seconds(value)
    if unit == "count":
        value = round(value)
    for size, letter in _LARGE:
        if abs(value) >= size:
            return f"{_short(value / size)} {letter}"
    return _short(value)


def _seconds(value: float) -> str:
    for size, name in ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"), (1e-3, "ms")):
        if value >= size:
            return f"{_short(value / size)} {name}"
    return f"{_short(value * 1e6)} µs" if value else "0 s"


def _short(value: float) -> str:
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def clock(at: float, seconds: float) -> str:
    """A time on an axis of so many seconds, UTC.

    >>> clock(1_790_000_000, 3_600), clock(1_790_000_000, 400_000)
    ('14:13', '09-21 14:13')
    """
    form = "%H:%M" if seconds <= 86_400 else "%m-%d %H:%M"
    return datetime.fromtimestamp(at, timezone.utc).strftime(form)


def ceiling(value: float) -> float:
    """The round number at which an axis ends.

    >>> [ceiling(v) for v in (0, 0.07, 1, 3.2, 870)]
    [1.0, 0.1, 1.0, 4.0, 1000.0]
    """
    if value <= 0 or not math.isfinite(value):
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(n * power for n in (1, 2, 4, 5, 10) if n * power >= value * (1 - 1e-9))
