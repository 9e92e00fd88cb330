"""The pieces of the picture: each function makes one panel of the board's state (rich)."""

from __future__ import annotations

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from mastwatch import taxonomy
from mastwatch.findings import Finding, Severity
from mastwatch.live.board import AgentRow, Board, Episode, Line, RunRow
from mastwatch.live.plain import count

FRAME = "grey42"
LEVELS = {
    Severity.INFO: "bright_black",
    Severity.SUSPECT: "yellow",
    Severity.WARN: "bold dark_orange",
    Severity.ALERT: "bold white on red3",
}
MARKS = {
    Severity.INFO: "bright_black",
    Severity.SUSPECT: "yellow",
    Severity.WARN: "dark_orange",
    Severity.ALERT: "red",
}
NAMES_WIDE, NAMES_NARROW = 25, 14  # columns for who speaks; wide ones also show to whom
OUTCOMES = {"completed": "green", "limit": "yellow", "error": "red", "paused": "cyan"}
_AGENTS = ("cyan", "green", "magenta", "blue", "bright_yellow", "bright_cyan", "bright_magenta")


def agent_style(name: str, run: RunRow | None) -> str:
    """An agent's colour: by order of appearance, so that neighbours differ."""
    names = [] if run is None else list(run.agents)
    return _AGENTS[names.index(name) % len(_AGENTS)] if name in names else "white"


def clock(seconds: float) -> str:
    """Minutes and seconds.

    >>> clock(75.4)
    '01:15'
    """
    return f"{int(seconds) // 60:02d}:{int(seconds) % 60:02d}"


def header(board: Board, narrow: bool = False) -> Panel:
    """What is being watched and how far it is; in a narrow terminal also who is at work."""
    lines: list[RenderableType] = []
    if board.title:
        lines.append(Text(board.title, style="bold", no_wrap=True, overflow="ellipsis"))
        lines.append(Text(board.subtitle, style="grey70", no_wrap=True, overflow="ellipsis"))
    shown = board.shown()
    lines += [_run_line(board, run) for run in shown[-2:]]
    if len(shown) > 2:
        lines.append(Text(f"and {count(len(shown) - 2, 'more run')}", style="grey58"))
    if not shown:
        lines.append(Text("○ waiting for a run to start", style="grey58"))
    elif narrow:
        lines.append(crew(board))
    done = sum(not run.active for run in board.runs.values()) + board.forgotten
    return Panel(
        Group(*lines),
        title=Text("mastwatch", style="bold bright_white"),
        title_align="left",
        subtitle=Text(f"{count(done, 'run')} done", style="grey58") if done else None,
        subtitle_align="right",
        border_style=FRAME,
        padding=(0, 1),
    )


def _run_line(board: Board, run: RunRow) -> Text:
    until = board.clock() if run.ended is None else run.ended
    worst = run.worst
    line = Text(no_wrap=True, overflow="ellipsis")
    if run.active:
        line.append("● ", style="bright_green")
    else:
        line.append("■ ", style=OUTCOMES.get(run.outcome, "grey58"))
    # The most important first: a narrow terminal cuts the end off.
    line.append(run.name or "run", style="bold")
    style = "green" if worst is None else MARKS[worst]
    line.append(f"  {count(len(run.episodes), 'finding')}", style=f"bold {style}")
    if not run.active:
        line.append(f"  {run.outcome}", style=OUTCOMES.get(run.outcome, "grey58"))
    line.append(f"  {clock(until - run.started)}", style="grey70")
    line.append(f"  {count(run.messages, 'message')}, {count(run.tools, 'tool call')}")
    line.append(f", {run.tokens:,} tokens" if run.tokens else "", style="grey70")
    line.append(f"  {run.framework} {run.short}", style="grey58")
    return line


def transcript(board: Board, height: int, width: int, console: Console, narrow: bool) -> Panel:
    """The last rows of the transcript; rows that a finding points at are marked."""
    shown = {run.run_id: run for run in board.shown()}
    marks = {run_id: run.marks for run_id, run in shown.items()}
    several = len(shown) > 1
    names = NAMES_NARROW if narrow else NAMES_WIDE
    room = width - names - (17 if several else 12)
    table = Table.grid(padding=(0, 1))
    table.add_column(justify="right", width=3, style="grey50")
    table.add_column(width=1)
    if several:
        table.add_column(width=4, style="grey50", no_wrap=True)
    table.add_column(width=names, no_wrap=True, overflow="ellipsis")
    table.add_column(width=room, no_wrap=True)
    left = max(height - 2, 1)
    rows: list[list[Text]] = []
    for line in reversed([line for line in board.lines if line.run_id in shown]):
        mark = marks[line.run_id].get(line.index)
        said = _fold(_what(line, mark), room, console)
        left -= said.plain.count("\n") + 1
        if left < 0:
            break
        rows.append(
            [
                Text(str(line.index)),
                Text("◆" if mark else " ", style=MARKS[mark] if mark else ""),
                *([Text(shown[line.run_id].short)] if several else []),
                _who(line, shown[line.run_id], narrow),
                said,
            ]
        )
    for row in reversed(rows):
        table.add_row(*row)
    return Panel(
        table,
        title="transcript",
        title_align="left",
        subtitle=Text("◆ shows a finding", style="grey58") if any(marks.values()) else None,
        subtitle_align="right",
        border_style=FRAME,
    )


def _fold(text: Text, width: int, console: Console) -> Text:
    """At most two lines of it; what is more becomes an ellipsis."""
    lines = list(text.wrap(console, width))
    if len(lines) > 2:
        lines[1].truncate(width - 1)
        lines[1].rstrip()
        lines[1].append("…")
    return Text("\n").join(lines[:2])


def _who(line: Line, run: RunRow, narrow: bool) -> Text:
    if line.kind == "tool":
        return Text.assemble(("  ↳ ", "grey50"), (line.sender, "italic"))
    who = Text(line.sender, style=f"bold {agent_style(line.sender, run)}")
    if line.target and not narrow:
        who.append(" → ", style="not bold grey50")
        who.append(line.target, style=f"not bold {agent_style(line.target, run)}")
    return who


def _what(line: Line, mark: Severity | None) -> Text:
    style = {"call": "bright_blue", "tool": "grey70"}.get(line.kind, "")
    return Text(line.text or "(empty)", style=f"bold {style}".strip() if mark else style)


def agents(board: Board, rows: int) -> Panel:
    """Who is at work: messages, tool calls, how long ago."""
    table = Table(expand=True, box=None, padding=(0, 1), header_style="grey58")
    table.add_column("agent", ratio=1, no_wrap=True, overflow="ellipsis")
    for title in ("msgs", "tools", "seen"):
        table.add_column(title, justify="right", no_wrap=True)
    entries = [(run, agent) for run in board.shown() for agent in run.agents.values()]
    newest = sorted(entries, key=lambda entry: -entry[1].seen)[: max(rows, 1)]
    for run, agent in entries:
        if any(agent is other for _, other in newest):
            table.add_row(*_agent_cells(board, run, agent))
    return Panel(table, title="agents", title_align="left", border_style=FRAME, padding=(0, 0))


def _agent_cells(board: Board, run: RunRow, agent: AgentRow) -> list[Text]:
    at_fault = any(e.finding.agent == agent.name for e in run.episodes.values())
    name = Text(agent.name, style=f"bold {agent_style(agent.name, run)}")
    if at_fault:
        name.append(" ◆", style=MARKS[run.worst or Severity.INFO])
    ago = board.clock() - agent.seen
    seen = "now" if ago < 1 else clock(ago)
    return [
        name,
        Text(str(agent.messages)),
        Text(str(agent.tools or "")),
        Text(seen if run.active else "", style="grey58"),
    ]


def findings(board: Board) -> Panel:
    """The findings of the runs shown, the latest first."""
    shown = board.shown()
    open_now = [(run, e) for run in shown for e in run.episodes.values()]
    open_now.sort(key=lambda entry: (entry[1].finding.severity, entry[1].first_index), reverse=True)
    body: list[RenderableType] = [finding_block(e, run, len(shown) > 1) for run, e in open_now]
    if not body:
        going = any(run.active for run in shown)
        body = [Text("nothing so far" if going or not shown else "no findings", style="green")]
    notices = {name: n for run in shown for name, n in run.notices.items()}
    if notices:
        body.append(Text("also noticed: " + ", ".join(notices), style="grey58"))
    worst = max((run.worst for run in shown if run.worst is not None), default=None)
    return Panel(
        Group(*body),
        title="findings",
        title_align="left",
        border_style=MARKS[worst] if worst else "green",
        padding=(0, 1),
    )


def crew(board: Board) -> Text:
    """The agents on one line, for narrow terminals."""
    line = Text(no_wrap=True, overflow="ellipsis")
    for run in board.shown():
        for agent in run.agents.values():
            tools = f"+{agent.tools}" if agent.tools else ""
            line.append(agent.name, style=f"bold {agent_style(agent.name, run)}")
            line.append(f" {agent.messages}{tools}  ", style="grey70")
    return line


def badge(severity: Severity) -> Text:
    """A severity as a coloured word."""
    return Text(f" {severity.name} ", style=LEVELS[severity])


def finding_block(
    episode: Episode, run: RunRow, name_run: bool = False, tail: bool = True
) -> RenderableType:
    """One finding: what and who, where, why; ``tail`` sets it off from the next."""
    finding = episode.finding
    head = badge(finding.severity)
    head.append(f" {finding.mode} ", style="bold not reverse default on default")
    head.append(taxonomy.mode(finding.mode).name, style="bold default on default")
    who = Text(style="default")
    if finding.agent:
        who.append(finding.agent, style=f"bold {agent_style(finding.agent, run)}")
        who.append(", ", style="grey58")
    who.append(f"{place(finding)}", style="grey78")
    if episode.first_index != finding.message_index:
        who.append(f", first seen at {episode.first_index}", style="grey58")
    if name_run:
        who.append(f", run {run.short}", style="grey58")
    parts = [head, who, Text(finding.explanation, style="default")]
    return Group(*parts, *([Text("")] if tail else []))


def place(finding: Finding) -> str:
    """Where it fired and what shows it; of much evidence the last rows."""
    shown = finding.evidence[-6:]
    rows = ("… " if len(shown) < len(finding.evidence) else "") + ", ".join(map(str, shown))
    return f"at message {finding.message_index}" + (f", evidence {rows}" if rows else "")
