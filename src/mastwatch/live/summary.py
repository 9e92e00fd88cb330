"""The last word of the view in a terminal (rich)."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from mastwatch import taxonomy
from mastwatch.live.board import Board, RunRow
from mastwatch.live.panels import FRAME, OUTCOMES, badge
from mastwatch.live.plain import count, first_seen, modes


def summary(board: Board, metrics_url: str | None, narrow: bool = False) -> RenderableType:
    """The last word: each run, how it ended, what was found, where the metrics are."""
    table = Table(box=box.ROUNDED, border_style=FRAME, header_style="grey58")
    table.add_column("run")
    if not narrow:
        table.add_column("outcome")
        table.add_column("messages", justify="right")
        table.add_column("tools", justify="right")
    table.add_column("findings")
    for run in board.runs.values():
        table.add_row(*(_run_narrow(run) if narrow else _run_wide(run)), _found(run))
    where = Text.assemble(("metrics ", "grey58"), (metrics_url or "not served", "bold"))
    parts: list[RenderableType] = [table, where]
    if board.forgotten:
        parts.insert(1, Text(f"and {count(board.forgotten, 'earlier run')} no longer listed"))
    if board.skipped:
        parts.append(Text(f"{count(board.skipped, 'event')} came too fast to be shown"))
    return Group(*(Text(remark, style="grey58") for remark in board.remarks), *parts)


def _run_wide(run: RunRow) -> list[Text]:
    return [
        Text.assemble((run.name or "run", "bold"), (f"\n{run.framework} {run.short}", "grey58")),
        Text(_state(run), style=OUTCOMES.get(run.outcome, "grey70")),
        Text(str(run.messages)),
        Text(str(run.tools)),
    ]


def _run_narrow(run: RunRow) -> list[Text]:
    name = Text(run.name or "run", style="bold")
    name.append(f"\n{_state(run)}", style=f"not bold {OUTCOMES.get(run.outcome, 'grey70')}")
    name.append(f", {count(run.messages, 'message')}", style="not bold grey58")
    return [name]


def _state(run: RunRow) -> str:
    return "running" if run.active else run.outcome


def _found(run: RunRow) -> Text:
    if not run.episodes:
        return Text("none", style="green")
    found = []
    for code, episodes in modes(run):
        worst = max(e.finding.severity for e in episodes)
        line = badge(worst)
        line.append(f" {code} {taxonomy.mode(code).name}", style="bold default on default")
        times = f" ×{len(episodes)}" if len(episodes) > 1 else ""
        line.append(f"{times}\n{first_seen(episodes, run)}", style="not bold grey70 on default")
        found.append(line)
    return Text("\n").join(found)
