"""What the detectors said while the run was going."""

from __future__ import annotations

from collections.abc import Sequence

from mastwatch.findings import Finding, Notice
from mastwatch.reports import wording
from mastwatch.reports.html.marks import Marks, row_anchor
from mastwatch.reports.html.markup import Child, Html, el
from mastwatch.store import Trace

MAX_SHOWN = 100
_ROWS_SHOWN = 8


def findings(trace: Trace, marks: Marks) -> Html | None:
    """Live findings, one entry per episode, and notices; None when there are none."""
    episodes: dict[object, list[Finding]] = {}
    for finding in trace.findings:
        episodes.setdefault(finding.episode or id(finding), []).append(finding)
    if not episodes and not trace.notices:
        return None
    order = sorted(episodes.values(), key=lambda rises: -max(f.severity for f in rises))
    return el(
        "section",
        el("h2", "Live findings ", el("small", "said while the run was going")),
        el("ul", [_episode(rises, marks) for rises in order[:MAX_SHOWN]], class_="findings"),
        el("p", f"and {len(order) - MAX_SHOWN} more", class_="note")
        if len(order) > MAX_SHOWN
        else None,
        _notices(trace.notices[:MAX_SHOWN], marks),
        id="findings",
    )


def _episode(rises: Sequence[Finding], marks: Marks) -> Html:
    last = max(rises, key=lambda f: f.severity)
    course = [f"{f.severity.label} at #{f.message_index}" for f in rises]
    return el(
        "li",
        el("span", last.severity.label, class_=f"word {last.severity.label}"),
        " ",
        el("b", wording.slug_name(last.slug)),
        " ",
        el("small", last.mode),
        el("p", last.explanation, class_="why"),
        el(
            "p",
            [" → ".join(course), " · messages "],
            _rows(last.evidence or (last.message_index,), marks),
            class_="note",
        ),
    )


def _notices(notices: Sequence[Notice], marks: Marks) -> Html | None:
    if not notices:
        return None
    items = [
        el("li", el("b", n.name.replace("_", " ")), f": {n.explanation} ", _row(n, marks))
        for n in notices
    ]
    return el("details", el("summary", f"Notices ({len(items)})"), el("ul", items), class_="group")


def _row(notice: Notice, marks: Marks) -> Html:
    return Html("".join(map(str, _rows((notice.message_index,), marks))))


def _rows(indices: Sequence[int], marks: Marks) -> list[Child]:
    shown: list[Child] = []
    for index in indices[:_ROWS_SHOWN]:
        if shown:
            shown.append(" ")
        known = index in marks.known
        shown.append(
            el("a", f"#{index}", href=f"#{row_anchor(index)}", class_="number")
            if known
            else f"#{index}"
        )
    if len(indices) > _ROWS_SHOWN:
        shown.append(f" and {len(indices) - _ROWS_SHOWN} more")
    return shown
