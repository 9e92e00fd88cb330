"""Who spoke when, and where findings and evidence are: one lane per agent, as inline SVG.

Positions are percentages of the width, so that it fits any screen; no style attribute is used,
which the page's policy would refuse.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from mastwatch.reports import wording
from mastwatch.reports.html.marks import Marks, hues, row_anchor
from mastwatch.reports.html.markup import Child, Html, el
from mastwatch.store import Trace, TraceRow

MAX_LANES = 10
"""Agents with a lane of their own; those who spoke least share the last."""
MAX_COLUMNS = 240
"""Columns of a lane; in a longer run several rows share one."""
_LANE, _TRACK, _HEIGHT = 34, 18, 10
_OTHERS = "others"
_SAID = ("present", "unsure")
"""Verdicts whose evidence is shown."""


def timeline(trace: Trace, marks: Marks, decided: int | None = None) -> Html | None:
    """The run at a glance; None when it has no rows.

    Args:
        trace: The run.
        marks: What is said about its rows.
        decided: The step that decided it.
    """
    if not trace.rows:
        return None
    picture = _Picture(trace, marks, decided)
    return el(
        "section",
        el("h2", "Timeline ", el("small", "messages from first to last")),
        el(
            "svg",
            picture.labels(),
            picture.blocks(),
            picture.decision(),
            picture.signs(),
            width="100%",
            height=picture.height,
            role="group",
            aria_label="Agents over time",
        ),
        _key(trace, marks, decided),
        id="timeline",
    )


class _Picture:
    """The shapes of one run's timeline."""

    def __init__(self, trace: Trace, marks: Marks, decided: int | None) -> None:
        self._rows = trace.rows
        self._decided = decided
        self._marks = marks
        self._hues = hues(trace)
        self._columns = min(len(trace.rows), MAX_COLUMNS)
        # Harness lines and tool results stand in the lane of the agent they belong to.
        self._lanes = _lanes(trace)
        self._order = {lane: at for at, lane in enumerate(dict.fromkeys(self._lanes.values()))}

    @property
    def height(self) -> int:
        return _LANE * len(self._order) + 4

    def labels(self) -> Iterator[Html]:
        for name, number in self._order.items():
            y = number * _LANE + _TRACK
            yield el("rect", x=0, y=y + _HEIGHT // 2, width="100%", height=1, class_="track")
            hue = self._hues.get(name, "")
            yield el("text", wording.agent_name(name), x=0, y=y - 4, class_=f"lane {hue}")

    def blocks(self) -> Iterator[Html]:
        """The messages; those of one lane that fall into one column share a block."""
        cells: dict[tuple[int, int], list[TraceRow]] = defaultdict(list)
        for position, row in enumerate(self._rows):
            cells[self._column(position), self._top(row)].append(row)
        width = f"{max(80 / self._columns, 0.3):.2f}%"
        for (column, top), rows in cells.items():
            yield self._block(rows, f"{100 * column / self._columns:.2f}%", top, width)

    def _block(self, rows: Sequence[TraceRow], x: str, y: int, width: str) -> Html:
        first = rows[0]
        kind = "tool" if all(row.kind == "tool" for row in rows) else ""
        more = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
        hue = self._hues.get(first.agent, "")
        shape = el("rect", x=x, y=y, width=width, height=_HEIGHT, class_=f"{hue} {kind}")
        name = el("title", f"#{first.index} {wording.agent_name(first.agent)}{more}")
        # Out of the tab order: the conversation itself is the way through with the keyboard.
        return el("a", name, shape, href=f"#{row_anchor(first.index)}", tabindex=-1)

    def decision(self) -> Iterator[Html]:
        """A line through all lanes where the run was decided, and a flag on who decided it."""
        for position, row in enumerate(self._rows):
            if row.index == self._decided:
                x = f"{100 * (self._column(position) + 0.4) / self._columns:.2f}%"
                yield el("rect", x=x, y=0, width=2, height=self.height - 4, class_="decisive")
                shape = el("path", d="M0 -12 14 -6 0 0Z", class_="decisive")
                flag = el("svg", shape, x=x, y=self._top(row), overflow="visible")
                label = f"#{row.index}: here {wording.agent_name(row.agent)} decided the run"
                yield _sign(label, flag, f"#{row_anchor(row.index)}")

    def signs(self) -> Iterator[Html]:
        """Evidence below the messages, live findings above."""
        for position, row in enumerate(self._rows):
            x = f"{100 * (self._column(position) + 0.5) / self._columns:.2f}%"
            yield from self._evidence(row, x)
            yield from self._finding(row, x)

    def _evidence(self, row: TraceRow, x: str) -> Iterator[Html]:
        quoted = [m for m in self._marks.of_row(row.index) if m.claim.tone in _SAID]
        if quoted:
            names = ", ".join(dict.fromkeys(mark.claim.name for mark in quoted))
            y = self._top(row) + _HEIGHT + 4
            dot = el("circle", cx=x, cy=y, r=4, class_=quoted[0].claim.tone)
            target = self._marks.target(quoted[0]) or f"#{row_anchor(row.index)}"
            yield _sign(f"#{row.index}: evidence of {names}", dot, target)

    def _finding(self, row: TraceRow, x: str) -> Iterator[Html]:
        found = self._marks.findings(row.index)
        if found:
            worst = max(found, key=lambda f: f.severity)
            shape = el("path", d="M0 -5 5 0 0 5 -5 0Z", class_=worst.severity.label)
            diamond = el("svg", shape, x=x, y=self._top(row) - 4, overflow="visible")
            label = f"#{row.index}: live finding {worst.mode}, {worst.severity.label}"
            yield _sign(label, diamond, f"#{row_anchor(row.index)}")

    def _column(self, position: int) -> int:
        return position * self._columns // len(self._rows)

    def _top(self, row: TraceRow) -> int:
        return self._order[self._lanes[row.agent]] * _LANE + _TRACK


def _lanes(trace: Trace) -> dict[str, str]:
    """The lane of every agent."""
    counts = Counter(row.agent for row in trace.rows)
    own = {agent for agent, _ in counts.most_common(MAX_LANES)}
    if len(counts) > MAX_LANES:
        own = {agent for agent, _ in counts.most_common(MAX_LANES - 1)}
    return {agent: agent if agent in own else _OTHERS for agent in counts}


def _sign(label: str, shape: Html, target: str) -> Html:
    return el("a", el("title", label), shape, href=target, aria_label=label, class_="sign")


def _key(trace: Trace, marks: Marks, decided: int | None) -> Html:
    severities = sorted({finding.severity for finding in trace.findings}, reverse=True)
    entries = [("◆", f"live finding, {s.label}", s.label) for s in severities]
    if any(m.claim.tone in _SAID for row in trace.rows for m in marks.of_row(row.index)):
        entries.insert(0, ("●", "evidence of the judge", "present"))
    if decided in marks.known:
        entries.insert(0, ("⚑", "the step that decided", "decisive"))
    entries.append(("▬", "message; tool results are pale", ""))
    parts: list[Child] = [
        el("span", el("span", f"{shape} ", class_="shape", aria_hidden="true"), label,
           class_=f"key {kind}")
        for shape, label, kind in entries
    ]  # fmt: skip
    return el("p", parts, class_="keys")
