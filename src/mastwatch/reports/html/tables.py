"""Tables and figures of the summary page."""

from __future__ import annotations

from collections.abc import Sequence

from mastwatch.reports import wording
from mastwatch.reports.html.markup import Child, Html, el
from mastwatch.reports.intervals import Interval
from mastwatch.reports.tallies import Tally


def table(head: Sequence[Child], rows: Sequence[Child], note: str = "") -> Html:
    """A table; on a small screen it scrolls by itself.

    Args:
        head: Names of the columns.
        rows: Its rows.
        note: What a reader must know of it.
    """
    grid = el(
        "table",
        el("thead", el("tr", [el("th", name, scope="col") for name in head])),
        el("tbody", rows),
    )
    # Focusable, so that the keyboard can scroll it.
    scroll = el("div", grid, class_="wide", tabindex=0, role="group", aria_label="Table")
    return Html(scroll + (el("p", note, class_="note") if note else ""))


def of(part: int, whole: int) -> str:
    """A part of a whole, with its share."""
    return f"{part:,} of {whole:,} ({wording.share(part / whole)})" if whole else "none"


def bar(found: Interval | None) -> Html | None:
    """A share, and its interval as a line through the end of the bar."""
    if found is None:
        return None
    low, high, value = (f"{100 * part:.1f}%" for part in (found.low, found.high, found.value))
    width = f"{100 * (found.high - found.low):.1f}%"
    shapes = [
        el("rect", x=0, y=2, width="100%", height=10, class_="track"),
        el("rect", x=0, y=2, width=value, height=10, class_="value"),
        el("rect", x=low, y=6, width=width, height=2, class_="range"),
    ]
    label = f"{value}, interval {low} to {high}"
    return el("svg", shapes, width="100%", height=14, role="img", aria_label=label, class_="bar")


def share(tally: Tally) -> str:
    """A share in figures, with its interval."""
    if tally.share is None:
        return "not evaluated"
    found = tally.share
    return (
        f"{tally.present} of {tally.evaluated} = {wording.share(found.value)} "
        f"({wording.share(found.low)} to {wording.share(found.high)})"
    )


def odds(found: Interval | None) -> Child:
    """An odds ratio; what is surely greater than one stands out."""
    if found is None:
        return el("span", "too few", class_="note")
    text = f"{found.value:.1f} ({found.low:.1f} to {found.high:.1f})"
    return el("b", text, class_="sure") if found.low > 1 else text


def cell(tally: Tally) -> Child:
    """A count on a ground that darkens with the share."""
    if tally.share is None:
        return el("span", "–", title="not evaluated")
    found = tally.share
    level = min(4, int(found.value * 5)) + 1 if tally.present else 0
    return el(
        "span",
        f"{tally.present}/{tally.evaluated} ",
        el("small", wording.share(found.value)),
        class_=f"heat h{level}",
        title=f"{wording.share(found.value)} "
        f"({wording.share(found.low)} to {wording.share(found.high)})",
    )
