"""How long a server asks us to wait."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

_MOST = 7 * 24 * 3_600.0


def seconds_asked(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Read ``retry-after-ms`` or ``retry-after``, in seconds or as a date; None without one.

    Args:
        headers: With lower-case names.
        now: Unix seconds.

    >>> seconds_asked({"retry-after": "7"}), seconds_asked({"retry-after-ms": "250"})
    (7.0, 0.25)
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * unit
        except (KeyError, ValueError):
            continue
        if math.isfinite(seconds) and seconds >= 0:
            return min(seconds, _MOST)
    try:
        date = parsedate_to_datetime(headers["retry-after"])
        seconds = date.timestamp() - (time.time() if now is None else now)
    except (KeyError, ValueError, TypeError, OverflowError):
        return None
    return min(max(seconds, 0.0), _MOST)
